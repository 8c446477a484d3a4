"""Rotary embedding with YaRN's frequencies, stretched 32-fold, and its attention factor on queries and keys.

Frequencies that turn more than 32 times in the original 4096 tokens stay, those that turn less than once slow
down by the factor, those between are mixed by a ramp.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="rope_yarn_bf16_h64_kv8_d64",
    tier="L1",
    family="rope",
    models=(
        Model(
            "openai/gpt-oss-120b",
            "num_attention_heads 64, num_key_value_heads 8, head_dim 64, rope_theta 150000, "
            "rope_scaling yarn: factor 32, beta_fast 32, beta_slow 1, "
            "original_max_position_embeddings 4096",
            read="huggingface/transformers: configuration_gpt_oss.py",
        ),
        Model(
            "openai/gpt-oss-20b",
            "num_attention_heads 64, num_key_value_heads 8, head_dim 64",
            read="EchoCog/gpt-oss-20b: docs/gpt-oss-20b-architecture.md",
        ),
    ),
    axes={"num_tokens": var, "num_heads": 64, "num_kv_heads": 8, "head_dim": 64},
    inputs={
        "query": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
        "positions": activation("int32[num_tokens]", draw.positions(latest=100000)),
        "factor": scalar("float32", 32.0),
    },
    outputs={
        "query_out": "bfloat16[num_tokens, num_heads, head_dim]",
        "key_out": "bfloat16[num_tokens, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 4, 16, 32, 61, 64, 128, 256, 512, 999, 1024, 2048, 4096, 6666, 8192, 16384)
    ),
    smoke=rows("num_tokens num_heads num_kv_heads", (5, 8, 1), (30, 4, 2)),
)  # fmt: skip

import math

import torch


def run(query, key, positions, factor):
    half = query.shape[-1] // 2
    index = torch.arange(half, device=query.device).to(torch.float32)
    frequency = 150000.0 ** -(index / half)
    fast, slow = (
        half * math.log(4096 / (turns * 2 * math.pi)) / math.log(150000.0) for turns in (32, 1)
    )
    stretched = ((index - fast) / (slow - fast)).clamp(0.0, 1.0)
    frequency = frequency * (1.0 - stretched) + frequency / factor * stretched
    angle = positions.to(torch.float32)[:, None] * frequency
    strength = 0.1 * math.log(factor) + 1.0
    cos, sin = strength * angle.cos()[:, None], strength * angle.sin()[:, None]
    return rotate(query, cos, sin), rotate(key, cos, sin)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
