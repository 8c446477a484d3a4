"""Causal attention of grouped queries over FP8 queries, keys and values, a scale for each head.

Softmax weights are rounded to bfloat16 before the second product, whose sum is scaled once.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var

QUERY = draw.fp8_rows(rows="query_rows", columns="query_width")
KEYS = draw.fp8_rows(rows="key_rows", columns="query_width", label="keys")
VALUES = draw.fp8_rows(rows="key_rows", columns="query_width", label="values")
PROBLEM = Problem(
    name="fp8_attention_prefill_h32_kv8_d128",
    tier="Quant",
    family="attention",
    models=(
        Model(
            "nvidia/Llama-3.1-8B-Instruct-FP8",
            "num_attention_heads 32, num_key_value_heads 8, head_dim 128, kv_cache_quant_algo "
            "FP8",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "length": var, "num_heads": 32, "num_kv_heads": 8, "head_dim": 128,
        "query_rows": "batch * num_heads", "key_rows": "batch * num_kv_heads",
        "query_width": "length * head_dim",
    },
    inputs={
        "query": activation("float8_e4m3fn[query_rows, query_width]", QUERY["values"]),
        "query_scales": activation("float32[query_rows, 1]", QUERY["scales"]),
        "key": activation("float8_e4m3fn[key_rows, query_width]", KEYS["values"]),
        "key_scales": activation("float32[key_rows, 1]", KEYS["scales"]),
        "value": activation("float8_e4m3fn[key_rows, query_width]", VALUES["values"]),
        "value_scales": activation("float32[key_rows, 1]", VALUES["scales"], ("scale", "outliers")),
        "head_dim": scalar("int32", "head_dim"),
    },
    outputs={"output": "bfloat16[query_rows, length, head_dim]"},
    workloads=rows(
        "batch length",
        (1, 128), (1, 512), (1, 1000), (1, 2048), (1, 4096), (1, 8192), (2, 512), (2, 2048), (3, 777),
        (4, 1024), (4, 4096), (8, 512), (8, 2048), (16, 300), (16, 1024), (32, 512),
    ),
    smoke=rows("batch length num_heads num_kv_heads head_dim", (2, 24, 4, 2, 32), (1, 65, 6, 1, 16)),
)  # fmt: skip

import torch


def run(query, query_scales, key, key_scales, value, value_scales, head_dim):
    kv_heads = key.shape[0]  # of all sequences
    grouped = query.to(torch.float32).view(kv_heads, -1, query.shape[1] // head_dim, head_dim)
    keys, values = (each.to(torch.float32).view(kv_heads, 1, -1, head_dim) for each in (key, value))
    scales = query_scales.view(kv_heads, -1, 1, 1) * key_scales.view(kv_heads, 1, 1, 1)
    logits = grouped @ keys.transpose(-1, -2) * (scales * head_dim**-0.5)
    later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=query.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(torch.bfloat16).to(
        torch.float32
    )  # as a kernel's second product takes them
    result = weights @ values * value_scales.view(kv_heads, 1, 1, 1)
    return result.to(torch.bfloat16).view(query.shape[0], -1, head_dim)
