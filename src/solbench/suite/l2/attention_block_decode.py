"""Attention block of one decode step: norm, projection, head norms, rotation, cache update, attention.

Each sequence stands at its own position of a contiguous cache; the new key and value are written there first.
"""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
    weight,
)

ROPE = draw.rope_table(tokens="batch", pairs="half_dim", base=1000000.0)
LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="attention_block_decode_bf16_h5120",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "Qwen/Qwen3-32B",
            "hidden_size 5120, 64 heads, 8 key-value heads, head_dim 128, rms_norm_eps 1e-6",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var, "hidden": 5120,
        "num_heads": 64, "num_kv_heads": 8, "head_dim": 128, "half_dim": "head_dim // 2",
        "query_width": "num_heads * head_dim", "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, hidden]", draw.normal(), EVERY_KIND),
        "key_cache": activation("bfloat16[batch, capacity, num_kv_heads, head_dim]", draw.normal(), KEY_KINDS),
        "value_cache": activation(
            "bfloat16[batch, capacity, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND
        ),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
        "cos": activation("float32[batch, half_dim]", ROPE["cos"]),
        "sin": activation("float32[batch, half_dim]", ROPE["sin"]),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
    },
    outputs={
        "y": "bfloat16[batch, hidden]",
        "new_key": "bfloat16[batch, num_kv_heads, head_dim]",
        "new_value": "bfloat16[batch, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "batch capacity total_keys",
        (1, 512, 300), (1, 4096, 4000), (1, 16384, 12000), (2, 2048, 2500), (3, 1000, 1500), (4, 1024, 2500),
        (4, 8192, 20000), (8, 2048, 10000), (8, 4096, 20000), (16, 1024, 10000), (16, 4096, 40000),
        (24, 1024, 15000), (32, 512, 10000), (32, 2048, 40000), (64, 1024, 40000), (64, 2048, 80000),
    ),
    smoke=rows(
        "batch capacity total_keys hidden num_heads num_kv_heads head_dim",
        (3, 24, 40, 128, 4, 2, 32), (2, 40, 60, 96, 6, 1, 64),
    ),
)  # fmt: skip

import torch


def run(
    x, key_cache, value_cache, lengths, cos, sin, gain, qkv_weight, query_gain, key_gain, output_weight,
):  # fmt: skip
    batch, capacity, num_kv_heads, head_dim = key_cache.shape
    heads = (rmsnorm(x, gain) @ qkv_weight.T).view(batch, -1, head_dim)
    num_heads = output_weight.shape[1] // head_dim
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    query = rotate(rmsnorm(query, query_gain), cos, sin)
    key = rotate(rmsnorm(key, key_gain), cos, sin)
    place = torch.arange(capacity, device=x.device)
    fresh = (place == lengths[:, None] - 1)[:, :, None, None]
    # The caches with the new row in its place: [batch, capacity, kv_heads, head_dim].
    keys = torch.where(fresh, key[:, None], key_cache).to(torch.float32)
    values = torch.where(fresh, value[:, None], value_cache).to(torch.float32)
    grouped = query.to(torch.float32).view(batch, num_kv_heads, -1, head_dim)
    logits = torch.einsum("bhgd,bkhd->bhgk", grouped, keys) * head_dim**-0.5
    stale = (place >= lengths[:, None])[:, None, None]
    weights = torch.softmax(logits.masked_fill(stale, float("-inf")), dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = torch.einsum("bhgk,bkhd->bhgd", weights, values).reshape(batch, -1).to(x.dtype)
    return x + attended @ output_weight.T, key, value


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
