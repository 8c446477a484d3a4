"""Query, key and value projection in FP8 with a scale a row, then rotary embedding of queries and keys.

The two halves of a head are rotated against each other; values leave as they are.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

INPUT = draw.fp8_rows(rows="num_tokens", columns="hidden")
WEIGHT = draw.fp8_rows(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="fp8_qkv_rope_rows_h4096_q32_kv8",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic",
            "hidden_size 4096, num_attention_heads 32, num_key_value_heads 8, head_dim 128, "
            "rope_theta 500000",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 4096, "num_heads": 32, "num_kv_heads": 8, "head_dim": 128,
        "width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scales": activation("float32[num_tokens, 1]", INPUT["scales"], ("scale", "outliers")),
        "weight": weight("float8_e4m3fn[width, hidden]", WEIGHT["values"]),
        "weight_scales": weight("float32[width, 1]", WEIGHT["scales"]),
        "positions": activation("int64[num_tokens]", draw.integers(high=8192)),
        "num_heads": scalar("int32", "num_heads"),
        "num_kv_heads": scalar("int32", "num_kv_heads"),
    },
    outputs={
        "query": "bfloat16[num_tokens, num_heads, head_dim]",
        "key": "bfloat16[num_tokens, num_kv_heads, head_dim]",
        "value": "bfloat16[num_tokens, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 31, 64, 128, 256, 500, 512, 1024, 2048, 3000, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden num_heads num_kv_heads head_dim", (5, 256, 4, 2, 32), (24, 512, 6, 1, 16)),
)  # fmt: skip

import torch


def run(x, x_scales, weight, weight_scales, positions, num_heads, num_kv_heads):
    product = x.to(torch.float32) @ weight.to(torch.float32).T
    projected = (product * x_scales * weight_scales.T).unflatten(
        -1, (num_heads + 2 * num_kv_heads, -1)
    )
    query, key, value = projected.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    half = projected.shape[-1] // 2
    steps = torch.arange(half, dtype=torch.float32, device=x.device) / half
    angles = positions[:, None].to(torch.float32) * 500000.0**-steps
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    query, key = (rotated(each, cos, sin).to(torch.bfloat16) for each in (query, key))
    return query, key, value.to(torch.bfloat16)


def rotated(heads, cos, sin):
    first, second = heads.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
