"""Query and key norm over the whole projected width, before it is split into heads.

Other than the per-head norm, one statistic covers all heads of a token.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="qk_norm_wide_bf16_q6144_k1024",
    tier="L1",
    family="norm",
    models=(
        Model(
            "MiniMaxAI/MiniMax-M2",
            "num_attention_heads 48, num_key_value_heads 8, head_dim 128, qk_norm_type "
            "per_layer",
            read="huggingface/transformers: configuration_minimax_m2.py",
        ),
    ),
    axes={"num_tokens": var, "query_width": 6144, "key_width": 1024},
    inputs={
        "query": activation("bfloat16[num_tokens, query_width]", draw.residual_stream(), EVERY_KIND),
        "key": activation("bfloat16[num_tokens, key_width]", draw.residual_stream(), EVERY_KIND),
        "query_gain": weight("bfloat16[query_width]", draw.norm_weight()),
        "key_gain": weight("bfloat16[key_width]", draw.norm_weight()),
        "eps": scalar("float32", 1e-6),
    },
    outputs={
        "query_out": "bfloat16[num_tokens, query_width]",
        "key_out": "bfloat16[num_tokens, key_width]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 8, 17, 64, 100, 256, 512, 999, 1024, 2048, 4096, 7000, 8192, 16384, 32768)
    ),
    smoke=rows("num_tokens query_width key_width", (6, 768, 128), (36, 1536, 256)),
)  # fmt: skip

import torch


def run(query, key, query_gain, key_gain, eps):
    return rmsnorm(query, query_gain, eps), rmsnorm(key, key_gain, eps)


def rmsnorm(values, gain, eps):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)
