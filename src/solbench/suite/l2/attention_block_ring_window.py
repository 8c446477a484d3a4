"""Local attention block of one decode step: the cache is a ring that holds the last 1024 tokens only.

The token at position p overwrites slot p mod window. Keys are rotated before they are kept, so their order in
the ring does not matter. A norm stands before the block and one after it; gains are one plus the weight.
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

ROPE = draw.rope_table(tokens="batch", pairs="half_dim")
PROBLEM = Problem(
    name="attention_block_ring_window_bf16_h2560",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "google/gemma-3-4b-it",
            "hidden_size 2560, 8 heads, 4 key-value heads, head_dim 256, sliding_window 1024",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
    ),
    axes={
        "batch": var, "latest": var, "hidden": 2560, "num_heads": 8, "num_kv_heads": 4, "head_dim": 256,
        "window": 1024, "half_dim": "head_dim // 2",
        "query_width": "num_heads * head_dim", "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, hidden]", draw.residual_stream(std=0.2), EVERY_KIND),
        "key_ring": activation("bfloat16[batch, num_kv_heads, window, head_dim]", draw.normal(), KEY_KINDS),
        "value_ring": activation("bfloat16[batch, num_kv_heads, window, head_dim]", draw.normal(), EVERY_KIND),
        "position": activation("int32[batch]", draw.integers(low=0, high="latest")),
        "cos": activation("float32[batch, half_dim]", ROPE["cos"]),
        "sin": activation("float32[batch, half_dim]", ROPE["sin"]),
        "gain": weight("bfloat16[hidden]", draw.normal(std=0.3)),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[head_dim]", draw.normal(std=0.3)),
        "key_gain": weight("bfloat16[head_dim]", draw.normal(std=0.3)),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
        "after_gain": weight("bfloat16[hidden]", draw.normal(std=0.3)),
    },
    outputs={
        "y": "bfloat16[batch, hidden]",
        "new_key": "bfloat16[batch, num_kv_heads, head_dim]",
        "new_value": "bfloat16[batch, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "batch latest",
        (1, 1024), (1, 8192), (2, 8192), (3, 4096), (4, 2048), (6, 32768), (8, 8192), (12, 1500),
        (16, 8192), (24, 4096), (32, 32768), (48, 2048), (64, 8192), (100, 16384), (128, 8192), (256, 8192),
    ),
    smoke=rows(
        "batch latest hidden num_heads num_kv_heads head_dim window",
        (3, 40, 128, 4, 2, 32, 16), (2, 30, 96, 3, 1, 64, 24),
    ),
)  # fmt: skip

import torch


def run(
    x, key_ring, value_ring, position, cos, sin, gain, qkv_weight, query_gain, key_gain,
    output_weight, after_gain,
):  # fmt: skip
    batch, num_kv_heads, window, head_dim = key_ring.shape
    heads = (rmsnorm(x, gain) @ qkv_weight.T).view(batch, -1, head_dim)
    num_heads = output_weight.shape[1] // head_dim
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    query = rotate(rmsnorm(query, query_gain), cos, sin)
    key = rotate(rmsnorm(key, key_gain), cos, sin)
    slot = torch.arange(window, device=x.device)
    fresh = (slot == position[:, None] % window)[:, None, :, None]
    keys = torch.where(fresh, key[:, :, None], key_ring).to(torch.float32)
    values = torch.where(fresh, value[:, :, None], value_ring).to(torch.float32)
    empty = (slot > position[:, None])[:, None, None]  # before the first lap is complete
    grouped = query.to(torch.float32).view(batch, num_kv_heads, -1, head_dim)
    logits = grouped @ keys.transpose(-1, -2) * head_dim**-0.5
    weights = torch.softmax(logits.masked_fill(empty, float("-inf")), dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = (weights @ values).reshape(batch, -1).to(x.dtype)
    return x + rmsnorm(attended @ output_weight.T, after_gain), key, value.clone()


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * (1.0 + gain.to(torch.float32))).to(values.dtype)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
