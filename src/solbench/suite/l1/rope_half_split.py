"""Rotary position embedding of queries and keys: channel i turns with channel i + head_dim / 2.

Cosines and sines come from a table, one row a token; all heads of a token turn alike.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_dim", base=500000.0)
PROBLEM = Problem(
    name="rope_half_split_bf16_h32_kv8_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "meta-llama/Llama-3.1-8B",
            "num_attention_heads 32, num_key_value_heads 8, head_dim 128, rope_theta 500000",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "num_heads": 32, "num_kv_heads": 8, "head_dim": 128,
        "half_dim": "head_dim // 2",
    },
    inputs={
        "query": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[num_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_dim]", ROPE["sin"]),
    },
    outputs={
        "query_out": "bfloat16[num_tokens, num_heads, head_dim]",
        "key_out": "bfloat16[num_tokens, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 37, 64, 128, 256, 512, 1000, 1024, 2048, 4096, 5555, 8192, 16384)
    ),
    smoke=rows("num_tokens num_heads num_kv_heads", (5, 4, 2), (33, 8, 1)),
)  # fmt: skip

import torch


def run(query, key, cos, sin):
    return rotate(query, cos, sin), rotate(key, cos, sin)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]  # the same for all heads
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
