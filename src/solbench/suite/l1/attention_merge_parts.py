"""Merging of partial attention results: parts of one cache attended apart, each with its log-sum-exp.

The second step of a split decode; a part that a short sequence does not have says minus infinity.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PARTS = draw.attention_parts(rows="batch", heads="heads", parts="parts", channels="channels")
PROBLEM = Problem(
    name="attention_merge_parts_fp32_h128_d512",
    tier="L1",
    family="attention",
    models=(
        Model(
            "deepseek-ai/DeepSeek-R1",
            "num_attention_heads 128, kv_lora_rank 512",
            read="DeepSeek-V3, its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={"batch": var, "parts": var, "heads": 128, "channels": 512},
    inputs={
        "partial": activation("float32[batch, parts, heads, channels]", PARTS["partial"], EVERY_KIND),
        "lse": activation("float32[batch, parts, heads]", PARTS["lse"]),
    },
    outputs={
        "merged": "bfloat16[batch, heads, channels]",
        "merged_lse": "float32[batch, heads]",
    },
    workloads=rows(
        "batch parts",
        (1, 2), (1, 8), (1, 16), (1, 64), (2, 5), (2, 32), (4, 8), (4, 24), (8, 4), (8, 16),
        (16, 2), (16, 8), (32, 4), (32, 7), (64, 2), (64, 4),
    ),
    smoke=rows("batch parts heads channels", (4, 3, 2, 32), (3, 6, 4, 64)),
)  # fmt: skip

import torch


def run(partial, lse):
    merged_lse = torch.logsumexp(lse, dim=1)
    weights = torch.exp(lse - merged_lse[:, None])
    merged = (weights[..., None] * partial).sum(dim=1)
    return merged.to(torch.bfloat16), merged_lse
