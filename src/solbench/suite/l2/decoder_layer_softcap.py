"""One decode step of a whole layer whose logits are capped at 50 by a tanh, in float32, with its cache.

Sandwich norms, whose gains are stored as their distance from one; a GEGLU. The new key and value go to the end
of each sequence before attention.
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

ROPE = draw.rope_table(tokens="batch", pairs="half_dim", base=10000.0)
LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="decoder_layer_softcap_fp32_h3584",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "google/gemma-2-9b",
            "hidden_size 3584, intermediate_size 14336, 16 heads, 8 key-value heads, head_dim "
            "256, attn_logit_softcapping 50, query_pre_attn_scalar 256",
            read="google/gemma_pytorch: gemma/config.py",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var, "hidden": 3584, "inner": 14336,
        "two_inner": "2 * inner", "num_heads": 16, "num_kv_heads": 8, "head_dim": 256,
        "half_dim": "head_dim // 2", "query_width": "num_heads * head_dim",
        "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    held_out_axes=("total_keys",),  # others could leave a sequence longer than the cache
    inputs={
        "x": activation("float32[batch, hidden]", draw.normal(std=2.0), EVERY_KIND),
        "key_cache": activation(
            "float32[batch, num_kv_heads, capacity, head_dim]", draw.normal(std=2.0), KEY_KINDS
        ),
        "value_cache": activation(
            "float32[batch, num_kv_heads, capacity, head_dim]", draw.normal(), EVERY_KIND
        ),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
        "cos": activation("float32[batch, half_dim]", ROPE["cos"]),
        "sin": activation("float32[batch, half_dim]", ROPE["sin"]),
        "before_attention": weight("float32[hidden]", draw.norm_weight(center=0.0)),
        "qkv_weight": weight("float32[qkv_width, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, query_width]", draw.weight_matrix()),
        "after_attention": weight("float32[hidden]", draw.norm_weight(center=0.0)),
        "before_mlp": weight("float32[hidden]", draw.norm_weight(center=0.0)),
        "gate_up_weight": weight("float32[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "after_mlp": weight("float32[hidden]", draw.norm_weight(center=0.0)),
    },
    outputs={
        "y": "float32[batch, hidden]",
        "new_key": "float32[batch, num_kv_heads, head_dim]",
        "new_value": "float32[batch, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "batch capacity total_keys",
        (1, 256, 200), (1, 1024, 1000), (1, 4096, 3000), (1, 8192, 8000), (2, 1024, 1200), (3, 2048, 3000),
        (4, 512, 1200), (4, 4096, 10000), (8, 1024, 5000), (8, 4096, 20000), (16, 512, 5000), (16, 2048, 20000),
        (24, 1024, 15000), (32, 512, 10000), (32, 1024, 20000), (64, 512, 16000),
    ),
    smoke=rows(
        "batch capacity total_keys hidden inner num_heads num_kv_heads head_dim",
        (3, 24, 40, 96, 128, 4, 2, 32), (2, 30, 44, 64, 96, 4, 1, 16),
    ),
)  # fmt: skip

import torch


def run(
    x, key_cache, value_cache, lengths, cos, sin, before_attention, qkv_weight, output_weight, after_attention,
    before_mlp, gate_up_weight, down_weight, after_mlp,
):  # fmt: skip
    batch, num_kv_heads, _, head_dim = key_cache.shape
    num_heads = output_weight.shape[1] // head_dim
    heads = (rmsnorm(x, before_attention) @ qkv_weight.T).view(batch, -1, head_dim)
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    query, key = rotate(query, cos, sin), rotate(key, cos, sin)
    attended = attention(query, key, value, key_cache, value_cache, lengths)
    x = x + rmsnorm(attended @ output_weight.T, after_attention)
    gate, up = (rmsnorm(x, before_mlp) @ gate_up_weight.T).chunk(2, dim=-1)
    inner = torch.nn.functional.gelu(gate, approximate="tanh") * up
    return x + rmsnorm(inner @ down_weight.T, after_mlp), key, value


def attention(query, key, value, key_cache, value_cache, lengths):
    batch, num_kv_heads, capacity, head_dim = key_cache.shape
    place = torch.arange(capacity, device=query.device)
    fresh = (place == lengths[:, None] - 1)[:, None, :, None]
    keys = torch.where(fresh, key[:, :, None], key_cache)
    values = torch.where(fresh, value[:, :, None], value_cache)
    grouped = query.view(batch, num_kv_heads, -1, head_dim)
    logits = grouped @ keys.transpose(-1, -2) * head_dim**-0.5
    logits = 50.0 * torch.tanh(logits / 50.0)
    stale = (place >= lengths[:, None])[:, None, None]
    weights = torch.softmax(logits.masked_fill(stale, float("-inf")), dim=-1)
    return (weights @ values).reshape(batch, -1)


def rmsnorm(values, gain):
    scale = torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return values * scale * (1.0 + gain)


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
