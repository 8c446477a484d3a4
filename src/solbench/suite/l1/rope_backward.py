"""Backward of rotary embedding of queries and keys in a training batch: a turn the other way.

Layout [batch, heads, tokens, head_dim]; all sequences start at the same position and share the table.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

ROPE = draw.rope_table(tokens="seq_len", pairs="half_dim", base=1000000.0, latest=1)
PROBLEM = Problem(
    name="rope_backward_bf16_h40_kv8_d128",
    tier="L1",
    family="rope",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-14B",
            "num_attention_heads 40, num_key_value_heads 8, head_dim 128, rope_theta 1000000",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "num_heads": 40, "num_kv_heads": 8, "head_dim": 128,
        "half_dim": "head_dim // 2",
    },
    inputs={
        "grad_query_out": activation(
            "bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND
        ),
        "grad_key_out": activation(
            "bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND
        ),
        "cos": activation("float32[seq_len, half_dim]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_dim]", ROPE["sin"]),
    },
    outputs={
        "grad_query": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "grad_key": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
    },
    gradient=Gradient(
        "forward", ("query", "key", "cos", "sin"), ("grad_query_out", "grad_key_out"), ("query", "key")
    ),
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 1024), (1, 2048), (1, 4096), (1, 8192), (2, 512), (2, 999), (2, 4096),
        (4, 256), (4, 1024), (4, 2048), (8, 512), (8, 1500), (16, 256), (16, 1024), (32, 512),
    ),
    smoke=rows("batch seq_len num_heads num_kv_heads", (2, 7, 4, 2), (1, 40, 5, 1)),
)  # fmt: skip

import torch


def forward(query, key, cos, sin):
    return turn(query, cos, sin), turn(key, cos, sin)


def run(grad_query_out, grad_key_out, cos, sin):
    # A rotation's transpose is the rotation by the negative angle.
    return turn(grad_query_out, cos, -sin), turn(grad_key_out, cos, -sin)


def turn(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
