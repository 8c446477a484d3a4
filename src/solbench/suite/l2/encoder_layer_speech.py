"""A layer of a speech encoder in float32: norm, full attention, residual, norm, GELU MLP, residual.

All projections but the key's have biases.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="encoder_layer_speech_fp32_h1280",
    tier="L2",
    family="encoder_layer",
    models=(
        Model(
            "openai/whisper-large-v3",
            "d_model 1280, encoder_attention_heads 20, encoder_ffn_dim 5120",
            "audio", read="k2-fsa/sherpa-onnx: scripts/whisper/model-info.md",
        ),
    ),
    axes={"batch": var, "frames": var, "hidden": 1280, "inner": 5120, "heads": 20, "three": "3 * hidden"},
    inputs={
        "x": activation("float32[batch, frames, hidden]", draw.normal(), EVERY_KIND),
        "first_gain": weight("float32[hidden]", draw.norm_weight()),
        "first_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "qkv_weight": weight("float32[three, hidden]", draw.weight_matrix()),
        "query_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "value_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "second_gain": weight("float32[hidden]", draw.norm_weight()),
        "second_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "down_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "float32[batch, frames, hidden]"},
    workloads=rows(
        "batch frames",
        (1, 50), (1, 200), (1, 500), (1, 750), (1, 1500), (2, 333), (2, 1500), (3, 1000),
        (4, 100), (4, 1500), (8, 250), (8, 750), (8, 1500), (16, 500), (16, 1500), (32, 300),
    ),
    smoke=rows("batch frames hidden inner heads", (2, 7, 64, 128, 4), (1, 30, 96, 192, 3)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, first_gain, first_shift, qkv_weight, query_bias, value_bias, output_weight, output_bias,
    second_gain, second_shift, up_weight, up_bias, down_weight, down_bias, heads,
):  # fmt: skip
    query, key, value = (layernorm(x, first_gain, first_shift) @ qkv_weight.T).chunk(3, dim=-1)
    query, key, value = (
        split(each, heads) for each in (query + query_bias, key, value + value_bias)
    )
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    attended = (torch.softmax(logits, dim=-1) @ value).transpose(1, 2).flatten(2)
    x = x + attended @ output_weight.T + output_bias
    inner = functional.gelu(layernorm(x, second_gain, second_shift) @ up_weight.T + up_bias)
    return x + inner @ down_weight.T + down_bias


def split(values, heads):
    return values.unflatten(-1, (heads, -1)).transpose(1, 2)


def layernorm(values, gain, shift):
    centred = values - values.mean(dim=-1, keepdim=True)
    variance = centred.pow(2).mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-5) * gain + shift
