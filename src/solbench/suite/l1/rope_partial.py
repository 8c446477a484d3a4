"""Rotary embedding of half of each head's channels from position numbers; the other half passes unchanged.

Angles are computed here, in float32, from the tokens' positions; sequences are packed, so positions start anew.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="rope_partial_bf16_h96_kv8_d128_r64",
    tier="L1",
    family="rope",
    models=(
        Model(
            "zai-org/GLM-4.5-Air",
            "num_attention_heads 96, num_key_value_heads 8, head_dim 128, "
            "partial_rotary_factor 0.5, rope_theta 1000000",
            read="huggingface/transformers: configuration_glm4_moe.py",
        ),
    ),
    axes={"num_tokens": var, "num_heads": 96, "num_kv_heads": 8, "head_dim": 128, "rotary_dim": 64},
    inputs={
        "query": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
        "positions": activation("int64[num_tokens]", draw.positions(latest=8192)),
        "rotary_dim": scalar("int32", "rotary_dim"),
        "base": scalar("float32", 1000000.0),
    },
    outputs={
        "query_out": "bfloat16[num_tokens, num_heads, head_dim]",
        "key_out": "bfloat16[num_tokens, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 3, 8, 16, 50, 64, 128, 256, 512, 800, 1024, 2048, 3333, 4096, 8192, 12288)
    ),
    smoke=rows(
        "num_tokens num_heads num_kv_heads head_dim rotary_dim", (5, 6, 2, 32, 16), (20, 12, 1, 128, 64)
    ),
)  # fmt: skip

import torch


def run(query, key, positions, rotary_dim, base):
    exponent = torch.arange(0, rotary_dim, 2, device=query.device).to(torch.float32) / rotary_dim
    angle = positions.to(torch.float32)[:, None] * (base**-exponent)[None, :]
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    return rotate(query, cos, sin, rotary_dim), rotate(key, cos, sin, rotary_dim)


def rotate(values, cos, sin, rotary_dim):
    first, second = values[..., :rotary_dim].to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return torch.cat([turned.to(values.dtype), values[..., rotary_dim:]], dim=-1)
