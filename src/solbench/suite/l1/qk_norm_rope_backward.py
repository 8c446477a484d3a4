"""Backward of per-head RMSNorm followed by rotary embedding, for the queries of a training batch.

The upstream gradient is turned back, then goes through the norm; the gain, shared by all heads and tokens, gets
a sum over both.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    var,
    weight,
)

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_dim", base=1000000.0)
PROBLEM = Problem(
    name="qk_norm_rope_backward_bf16_h64_d128",
    tier="L1",
    family="rope",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-32B",
            "num_attention_heads 64, head_dim 128, rms_norm_eps 1e-6",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"num_tokens": var, "num_heads": 64, "head_dim": 128, "half_dim": "head_dim // 2"},
    inputs={
        "grad_out": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(std=2.0)),
        "gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "cos": activation("float32[num_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_dim]", ROPE["sin"]),
        "rstd": activation("float32[num_tokens, num_heads, 1]", computed("reciprocal_rms", "x")),
    },
    outputs={
        "grad_x": "bfloat16[num_tokens, num_heads, head_dim]",
        "grad_gain": "bfloat16[head_dim]",
    },
    gradient=Gradient("forward", ("x", "gain", "cos", "sin"), ("grad_out",), ("x", "gain")),
    workloads=rows(
        "num_tokens",
        *(64, 128, 200, 256, 512, 777, 1024, 1500, 2048, 3000, 4096, 5000, 6144, 8192, 12288, 16384),
    ),
    smoke=rows("num_tokens num_heads", (6, 4), (33, 8)),
)  # fmt: skip

import torch


def reciprocal_rms(x):
    return torch.rsqrt(x.to(torch.float32).pow(2).mean(dim=-1, keepdim=True) + 1e-6)


def turn(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def forward(x, gain, cos, sin):
    return turn(x.to(torch.float32) * reciprocal_rms(x) * gain.to(torch.float32), cos, sin).to(
        x.dtype
    )


def run(grad_out, x, gain, cos, sin, rstd):
    upstream = turn(grad_out.to(torch.float32), cos, -sin)
    normalised = x.to(torch.float32) * rstd
    scaled = upstream * gain.to(torch.float32)
    along = (scaled * normalised).mean(dim=-1, keepdim=True)
    grad_x = (scaled - normalised * along) * rstd
    grad_gain = (upstream * normalised).sum(dim=(0, 1))
    return grad_x.to(x.dtype), grad_gain.to(gain.dtype)
