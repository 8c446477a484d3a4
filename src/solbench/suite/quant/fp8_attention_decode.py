"""Decode step of grouped-query attention over an FP8 cache, a scale for each head's keys and values."""

from solbench.suite import QUERY_KINDS, Model, Problem, activation, draw, rows, var

KEYS = draw.fp8_rows(rows="cache_rows", columns="cache_width")
VALUES = draw.fp8_rows(rows="cache_rows", columns="cache_width", label="values")
LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="fp8_attention_decode_h64_kv8_d128",
    tier="Quant",
    family="attention",
    models=(
        Model(
            "nvidia/Llama-3.3-70B-Instruct-FP8",
            "num_attention_heads 64, num_key_value_heads 8, head_dim 128, FP8 cache",
            read="its base model: ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var,
        "num_heads": 64, "num_kv_heads": 8, "head_dim": 128,
        "cache_rows": "batch * num_kv_heads", "cache_width": "capacity * head_dim",
    },
    inputs={
        "query": activation("bfloat16[batch, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "key_cache": activation("float8_e4m3fn[cache_rows, cache_width]", KEYS["values"]),
        "key_scales": activation("float32[cache_rows, 1]", KEYS["scales"]),
        "value_cache": activation("float8_e4m3fn[cache_rows, cache_width]", VALUES["values"]),
        "value_scales": activation("float32[cache_rows, 1]", VALUES["scales"], ("scale", "outliers")),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
    },
    outputs={"output": "bfloat16[batch, num_heads, head_dim]"},
    workloads=rows(
        "batch capacity total_keys",
        (1, 512, 400), (1, 4096, 4000), (1, 16384, 15000), (2, 2048, 3000), (4, 1024, 3000), (4, 8192, 20000),
        (7, 3000, 15000), (8, 2048, 12000), (8, 8192, 50000), (16, 1024, 12000), (16, 4096, 40000),
        (32, 512, 12000), (32, 2048, 50000), (48, 1024, 40000), (64, 1024, 50000), (64, 4096, 200000),
    ),
    smoke=rows("batch capacity total_keys num_heads num_kv_heads", (3, 20, 40, 4, 2), (2, 64, 100, 8, 1)),
)  # fmt: skip

import torch


def run(query, key_cache, key_scales, value_cache, value_scales, lengths):
    batch, _, head_dim = query.shape
    caches = (batch, key_cache.shape[0] // batch, -1, head_dim)
    keys = (key_cache.to(torch.float32) * key_scales).view(caches)
    values = (value_cache.to(torch.float32) * value_scales).view(caches)
    grouped = query.to(torch.float32).view(batch, keys.shape[1], -1, head_dim)
    logits = grouped @ keys.transpose(-1, -2) * head_dim**-0.5
    stale = torch.arange(keys.shape[2], device=query.device) >= lengths[:, None]
    weights = torch.softmax(logits.masked_fill(stale[:, None, None], float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ values).reshape(query.shape).to(query.dtype)
