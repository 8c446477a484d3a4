"""Decode step over a contiguous cache: each sequence has its own length, the rest of its cache row is stale.

Ten query heads share a key-value head.
"""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
)

LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="attention_decode_batch_bf16_h80_kv8_d128",
    tier="L1",
    family="attention",
    models=(
        Model(
            "ByteDance-Seed/Seed-OSS-36B-Instruct",
            "num_attention_heads 80, num_key_value_heads 8, head_dim 128",
            read="huggingface/transformers: configuration_seed_oss.py",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var,
        "num_heads": 80, "num_kv_heads": 8, "head_dim": 128,
    },
    inputs={
        "query": activation("bfloat16[batch, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "key_cache": activation("bfloat16[batch, num_kv_heads, capacity, head_dim]", draw.normal(), KEY_KINDS),
        "value_cache": activation(
            "bfloat16[batch, num_kv_heads, capacity, head_dim]", draw.normal(), EVERY_KIND
        ),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
    },
    outputs={"output": "bfloat16[batch, num_heads, head_dim]"},
    workloads=rows(
        "batch capacity total_keys",
        (1, 512, 300), (1, 4096, 4000), (1, 16384, 12345), (2, 2048, 2000), (4, 1024, 2000), (4, 8192, 16000),
        (7, 3000, 10000), (8, 2048, 8000), (8, 8192, 30000), (16, 1024, 8000), (16, 4096, 30000),
        (32, 512, 8000), (32, 4096, 60000), (48, 2048, 50000), (64, 1024, 30000), (64, 4096, 120000),
    ),
    smoke=rows("batch capacity total_keys num_heads num_kv_heads", (3, 40, 60, 4, 2), (5, 64, 160, 10, 1)),
)  # fmt: skip

import torch


def run(query, key_cache, value_cache, lengths):
    batch, num_kv_heads, capacity, head_dim = key_cache.shape
    grouped = query.to(torch.float32).view(batch, num_kv_heads, -1, head_dim)
    logits = grouped @ key_cache.to(torch.float32).transpose(-1, -2) * head_dim**-0.5
    stale = torch.arange(capacity, device=query.device) >= lengths[:, None]
    weights = torch.softmax(logits.masked_fill(stale[:, None, None], float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ value_cache.to(torch.float32)).view(query.shape).to(query.dtype)
