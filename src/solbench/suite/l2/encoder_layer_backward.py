"""Backward of a vision encoder's layer in float32: its input and all twelve parameters.

LayerNorm before full attention and before the MLP, tanh GELU, biases everywhere. Only the input was kept.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    draw,
    rows,
    scalar,
    var,
    weight,
)

PARAMETERS = (
    "attention_gain", "attention_shift", "qkv_weight", "qkv_bias", "output_weight", "output_bias",
    "mlp_gain", "mlp_shift", "up_weight", "up_bias", "down_weight", "down_bias",
)  # fmt: skip
PROBLEM = Problem(
    name="encoder_layer_backward_fp32_h1152",
    tier="L2",
    family="encoder_layer",
    direction="backward",
    models=(
        Model(
            "google/siglip-so400m-patch14-384",
            "vision_config: hidden_size 1152, intermediate_size 4304, num_attention_heads 16, "
            "layer_norm_eps 1e-6",
            "multimodal",
            read="google-research/big_vision: models/vit.py, So400m",
        ),
    ),
    axes={
        "images": var, "tokens": 729, "hidden": 1152, "inner": 4304, "heads": 16, "three_hidden": "3 * hidden",
    },
    inputs={
        "grad_y": activation("float32[images, tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[images, tokens, hidden]", draw.normal()),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "attention_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "qkv_weight": weight("float32[three_hidden, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("float32[three_hidden]", draw.normal(std=0.2)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "mlp_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "heads": scalar("int32", "heads"),
    },
    outputs={
        "grad_x": "float32[images, tokens, hidden]",
        "grad_attention_gain": "float32[hidden]",
        "grad_attention_shift": "float32[hidden]",
        "grad_qkv_weight": "float32[three_hidden, hidden]",
        "grad_qkv_bias": "float32[three_hidden]",
        "grad_output_weight": "float32[hidden, hidden]",
        "grad_output_bias": "float32[hidden]",
        "grad_mlp_gain": "float32[hidden]",
        "grad_mlp_shift": "float32[hidden]",
        "grad_up_weight": "float32[inner, hidden]",
        "grad_up_bias": "float32[inner]",
        "grad_down_weight": "float32[hidden, inner]",
        "grad_down_bias": "float32[hidden]",
    },
    gradient=Gradient("forward", ("x", *PARAMETERS, "heads"), ("grad_y",), ("x", *PARAMETERS)),
    workloads=rows(
        "images tokens",
        (1, 256), (1, 729), (2, 256), (2, 729), (3, 576), (4, 256), (4, 729), (6, 729),
        (8, 196), (8, 729), (12, 577), (16, 256), (16, 729), (24, 256), (32, 196), (32, 256),
    ),
    smoke=rows("images tokens hidden inner heads", (2, 7, 48, 64, 4), (1, 20, 72, 96, 3)),
)  # fmt: skip

import math

import torch
from torch.nn import functional


def forward(
    x, attention_gain, attention_shift, qkv_weight, qkv_bias, output_weight, output_bias,
    mlp_gain, mlp_shift, up_weight, up_bias, down_weight, down_bias, heads,
):  # fmt: skip
    scaled = normalise(x)[0] * attention_gain + attention_shift
    attended = merge(attend(scaled @ qkv_weight.T + qkv_bias, heads)[-1])
    x = x + attended @ output_weight.T + output_bias
    wide = (normalise(x)[0] * mlp_gain + mlp_shift) @ up_weight.T + up_bias
    return x + functional.gelu(wide, approximate="tanh") @ down_weight.T + down_bias


def run(
    grad_y, x, attention_gain, attention_shift, qkv_weight, qkv_bias, output_weight, output_bias,
    mlp_gain, mlp_shift, up_weight, up_bias, down_weight, heads,
):  # fmt: skip
    unit, rstd = normalise(x)
    scaled = unit * attention_gain + attention_shift
    query, key, value, weights, results = attend(scaled @ qkv_weight.T + qkv_bias, heads)
    attended = merge(results)
    middle = x + attended @ output_weight.T + output_bias

    middle_unit, middle_rstd = normalise(middle)
    mlp_input = middle_unit * mlp_gain + mlp_shift
    inner, slope = gelu_and_slope(mlp_input @ up_weight.T + up_bias)
    grad_wide = (grad_y @ down_weight) * slope
    of_down = outer(grad_y, inner)
    added, *of_mlp_norm = norm_backward(grad_wide @ up_weight, middle_unit, middle_rstd, mlp_gain)
    grad_middle = grad_y + added

    upstream = split(grad_middle @ output_weight, heads)
    grad_weights = upstream @ value.transpose(-1, -2)
    along = (grad_weights * weights).sum(dim=-1, keepdim=True)
    grad_logits = weights * (grad_weights - along) * query.shape[-1] ** -0.5
    grad_heads = (
        grad_logits @ key, grad_logits.transpose(-1, -2) @ query, weights.transpose(-1, -2) @ upstream
    )  # fmt: skip
    grad_qkv = torch.cat([merge(each) for each in grad_heads], dim=-1)
    added, *of_norm = norm_backward(grad_qkv @ qkv_weight, unit, rstd, attention_gain)
    return (
        grad_middle + added, *of_norm, *outer(grad_qkv, scaled), *outer(grad_middle, attended),
        *of_mlp_norm, *outer(grad_wide, mlp_input), *of_down,
    )  # fmt: skip


def normalise(x):
    centred = x - x.mean(dim=-1, keepdim=True)
    rstd = torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return centred * rstd, rstd


def norm_backward(upstream, unit, rstd, gain):
    """Gradients of input, gain and shift."""
    scaled = upstream * gain
    along = (scaled * unit).mean(dim=-1, keepdim=True)
    grad_x = (scaled - scaled.mean(dim=-1, keepdim=True) - unit * along) * rstd
    return grad_x, (upstream * unit).sum(dim=(0, 1)), upstream.sum(dim=(0, 1))


def attend(projected, heads):
    query, key, value = (split(each, heads) for each in projected.chunk(3, dim=-1))
    weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, dim=-1)
    return query, key, value, weights, weights @ value


def gelu_and_slope(wide):
    factor = math.sqrt(2.0 / math.pi)
    bent = torch.tanh(factor * (wide + 0.044715 * wide.pow(3)))
    steepness = factor * (1.0 + 3.0 * 0.044715 * wide.pow(2))
    slope = 0.5 * (1.0 + bent) + 0.5 * wide * (1.0 - bent.pow(2)) * steepness
    return 0.5 * wide * (1.0 + bent), slope


def split(values, heads):
    return values.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(values):
    return values.transpose(1, 2).flatten(2)


def outer(upstream, inputs):
    """Gradients of a matrix and of its bias, summed over all tokens."""
    return upstream.flatten(0, 1).T @ inputs.flatten(0, 1), upstream.sum(dim=(0, 1))
