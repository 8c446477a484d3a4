"""One step of a speech decoder's layer in float32: attention to the text so far, to the audio, then a GELU MLP.

Keys and values of the audio were computed once. The new token's key and value are written to the cache of
the text. Key projections have no bias.
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

LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="decoder_layer_cross_fp32_h1280",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "openai/whisper-large-v3",
            "d_model 1280, decoder_attention_heads 20, decoder_ffn_dim 5120, 1500 audio "
            "positions",
            "audio", read="k2-fsa/sherpa-onnx: scripts/whisper/model-info.md",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var, "frames": 1500, "hidden": 1280, "inner": 5120,
        "heads": 20, "head_dim": 64, "three_hidden": "3 * hidden",
    },
    held_out_axes=("total_keys",),  # others could leave a sequence longer than the cache
    inputs={
        "x": activation("float32[batch, hidden]", draw.normal(), EVERY_KIND),
        "key_cache": activation("float32[batch, heads, capacity, head_dim]", draw.normal(), KEY_KINDS),
        "value_cache": activation("float32[batch, heads, capacity, head_dim]", draw.normal(), EVERY_KIND),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
        "audio_key": activation("float32[batch, heads, frames, head_dim]", draw.normal(), KEY_KINDS),
        "audio_value": activation("float32[batch, heads, frames, head_dim]", draw.normal(), EVERY_KIND),
        "norms": weight("float32[3, hidden]", draw.norm_weight()),
        "norm_shifts": weight("float32[3, hidden]", draw.normal(std=0.1)),
        "qkv_weight": weight("float32[three_hidden, hidden]", draw.weight_matrix()),
        "query_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "value_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "cross_query_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "cross_query_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "cross_output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "cross_output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "down_bias": weight("float32[hidden]", draw.normal(std=0.2)),
    },
    outputs={
        "y": "float32[batch, hidden]",
        "new_key": "float32[batch, heads, head_dim]",
        "new_value": "float32[batch, heads, head_dim]",
    },
    workloads=rows(
        "batch capacity total_keys",
        (1, 448, 5), (1, 448, 100), (1, 448, 440), (2, 448, 60), (3, 200, 200), (4, 448, 400),
        (5, 448, 700), (8, 128, 500), (8, 448, 1500), (12, 448, 2000), (16, 128, 900), (16, 448, 3000),
        (24, 256, 2500), (32, 448, 6000), (48, 128, 3000), (64, 448, 12000),
    ),
    smoke=rows(
        "batch capacity total_keys frames hidden inner heads head_dim",
        (3, 14, 25, 12, 64, 96, 4, 16), (2, 20, 30, 33, 96, 128, 3, 32),
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, key_cache, value_cache, lengths, audio_key, audio_value, norms, norm_shifts, qkv_weight, query_bias,
    value_bias, output_weight, output_bias, cross_query_weight, cross_query_bias, cross_output_weight,
    cross_output_bias, up_weight, up_bias, down_weight, down_bias,
):  # fmt: skip
    batch, heads, capacity, head_dim = key_cache.shape
    query, key, value = (layernorm(x, norms[0], norm_shifts[0]) @ qkv_weight.T).chunk(3, dim=-1)
    query, key, value = (
        each.view(batch, heads, head_dim) for each in (query + query_bias, key, value + value_bias)
    )
    place = torch.arange(capacity, device=x.device)
    fresh = (place == lengths[:, None] - 1)[:, None, :, None]
    keys = torch.where(fresh, key[:, :, None], key_cache)
    values = torch.where(fresh, value[:, :, None], value_cache)
    stale = (place >= lengths[:, None])[:, None]
    x = x + attention(query, keys, values, stale) @ output_weight.T + output_bias

    query = layernorm(x, norms[1], norm_shifts[1]) @ cross_query_weight.T + cross_query_bias
    attended = attention(query.view(batch, heads, head_dim), audio_key, audio_value)
    x = x + attended @ cross_output_weight.T + cross_output_bias

    inner = functional.gelu(layernorm(x, norms[2], norm_shifts[2]) @ up_weight.T + up_bias)
    return x + inner @ down_weight.T + down_bias, key, value


def attention(query, keys, values, hidden=None):
    logits = (query[:, :, None] @ keys.transpose(-1, -2))[:, :, 0] * query.shape[-1] ** -0.5
    if hidden is not None:
        logits = logits.masked_fill(hidden, float("-inf"))
    weights = torch.softmax(logits, dim=-1)
    return (weights[:, :, None] @ values).flatten(1)


def layernorm(values, gain, shift):
    centred = values - values.mean(dim=-1, keepdim=True)
    variance = centred.pow(2).mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-5) * gain + shift
