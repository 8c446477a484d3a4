"""Causal attention of latent attention's expanded form: keys of 192 channels, values of 128, 128 heads.

Used for prefill, where expanding the latent vectors once costs less than absorbing them into every query.
"""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    scalar,
    var,
)

PROBLEM = Problem(
    name="attention_latent_prefill_bf16_h128_k192_v128",
    tier="L1",
    family="attention",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3.1",
            "num_attention_heads 128, qk_nope_head_dim 128, qk_rope_head_dim 64, v_head_dim "
            "128",
            read="DeepSeek-V3, its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
        Model(
            "moonshotai/Kimi-K2-Instruct",
            "num_attention_heads 64, qk_nope_head_dim 128, qk_rope_head_dim 64, v_head_dim 128",
            read="ai-dynamo/aiconfigurator: moonshotai--Kimi-K2-Instruct",
        ),
    ),
    axes={"query_len": var, "key_len": var, "num_heads": 128, "key_dim": 192, "value_dim": 128},
    constraints=("query_len <= key_len",),
    inputs={
        "query": activation("bfloat16[query_len, num_heads, key_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[key_len, num_heads, key_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[key_len, num_heads, value_dim]", draw.normal(), EVERY_KIND),
        "scale": scalar("float32", 0.1352),
    },
    outputs={"output": "bfloat16[query_len, num_heads, value_dim]"},
    workloads=rows(
        "query_len key_len num_heads",
        (16, 1000, 128), (64, 64, 128), (128, 4096, 128), (256, 256, 128), (333, 333, 64), (512, 512, 128),
        (512, 8192, 16), (1024, 1024, 128), (1024, 3000, 64), (1500, 1500, 128), (2048, 2048, 128),
        (2048, 8192, 64), (4096, 4096, 16), (4096, 4096, 64), (3000, 3000, 128), (6000, 6000, 16),
    ),
    smoke=rows("query_len key_len num_heads", (10, 24, 2), (40, 40, 3)),
)  # fmt: skip

import torch


def run(query, key, value, scale):
    logits = torch.einsum("qhd,khd->hqk", query.to(torch.float32), key.to(torch.float32)) * scale
    later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=query.device)
    later = later.triu(logits.shape[-1] - logits.shape[-2] + 1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return torch.einsum("hqk,khd->qhd", weights, value.to(torch.float32)).to(query.dtype)
