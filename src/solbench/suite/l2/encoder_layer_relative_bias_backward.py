"""Backward of an encoder layer with position biases, in float32: its input, the biases and all weights.

The gradient of the biases of a pair of positions is a sum over the batch. Only inputs were kept: the half of
the layer that attends is computed again.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

PARAMETERS = (
    "attention_gain", "qk_weight", "value_weight", "output_weight",
    "mlp_gain", "gate_weight", "up_weight", "down_weight",
)  # fmt: skip
PROBLEM = Problem(
    name="encoder_layer_relative_bias_backward_fp32_h4096",
    tier="L2",
    family="encoder_layer",
    direction="backward",
    models=(
        Model(
            "google/t5-v1_1-xxl",
            "d_model 4096, num_heads 64, d_kv 64, d_ff 10240, gated-gelu",
            read="google-research/t5x: examples/t5/t5_1_1/xxl.gin",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 4096, "inner": 10240, "heads": 64, "head_dim": 64,
        "width": "heads * head_dim", "qk_fan_in": "8 * hidden",
    },
    inputs={
        "grad_y": activation("float32[batch, seq_len, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(std=2.0)),
        "position_bias": activation("float32[heads, seq_len, seq_len]", draw.normal(std=1.5)),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "qk_weight": weight("float32[2, width, hidden]", draw.weight_matrix(fan_in="qk_fan_in")),
        "value_weight": weight("float32[width, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, width]", draw.weight_matrix()),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "gate_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
    },
    outputs={
        "grad_x": "float32[batch, seq_len, hidden]",
        "grad_position_bias": "float32[heads, seq_len, seq_len]",
        "grad_attention_gain": "float32[hidden]",
        "grad_qk_weight": "float32[2, width, hidden]",
        "grad_value_weight": "float32[width, hidden]",
        "grad_output_weight": "float32[hidden, width]",
        "grad_mlp_gain": "float32[hidden]",
        "grad_gate_weight": "float32[inner, hidden]",
        "grad_up_weight": "float32[inner, hidden]",
        "grad_down_weight": "float32[hidden, inner]",
    },
    gradient=Gradient(
        "forward", ("x", "position_bias", *PARAMETERS), ("grad_y",), ("x", "position_bias", *PARAMETERS)
    ),
    workloads=rows(
        "batch seq_len",
        (1, 77), (1, 128), (1, 226), (1, 256), (1, 300), (1, 512), (2, 128), (2, 256),
        (2, 512), (3, 200), (4, 77), (4, 256), (4, 512), (8, 128), (8, 300), (16, 128),
    ),
    smoke=rows("batch seq_len hidden inner heads head_dim", (2, 7, 48, 64, 4, 8), (3, 20, 64, 96, 3, 16)),
)  # fmt: skip

import math

import torch


def attention_half(x, position_bias, gain, qk_weight, value_weight, output_weight):
    """The state after attention, and the attention weights."""
    normalised = normalise(x)[0] * gain
    query, key, value = project(normalised, qk_weight, value_weight, position_bias.shape[0])
    weights = torch.softmax(query @ key.transpose(-1, -2) + position_bias, dim=-1)
    return x + merge(weights @ value) @ output_weight.T, weights


def forward(
    x, position_bias, attention_gain, qk_weight, value_weight, output_weight,
    mlp_gain, gate_weight, up_weight, down_weight,
):  # fmt: skip
    x, _ = attention_half(x, position_bias, attention_gain, qk_weight, value_weight, output_weight)
    normalised = normalise(x)[0] * mlp_gain
    opening = torch.nn.functional.gelu(normalised @ gate_weight.T, approximate="tanh")
    return x + (opening * (normalised @ up_weight.T)) @ down_weight.T


def run(
    grad_y, x, position_bias, attention_gain, qk_weight, value_weight, output_weight,
    mlp_gain, gate_weight, up_weight, down_weight,
):  # fmt: skip
    middle, weights = attention_half(
        x, position_bias, attention_gain, qk_weight, value_weight, output_weight
    )
    grad_middle, *of_mlp = mlp_backward(
        grad_y, middle, mlp_gain, gate_weight, up_weight, down_weight
    )
    unit, rstd = normalise(x)
    normalised = unit * attention_gain
    query, key, value = project(normalised, qk_weight, value_weight, weights.shape[1])
    upstream = split(grad_middle @ output_weight, weights.shape[1])
    grad_weights = upstream @ value.transpose(-1, -2)
    grad_logits = weights * (grad_weights - (grad_weights * weights).sum(dim=-1, keepdim=True))
    grad_query = merge(grad_logits @ key)
    grad_key = merge(grad_logits.transpose(-1, -2) @ query)
    grad_value = merge(weights.transpose(-1, -2) @ upstream)
    grad_normalised = (
        grad_query @ qk_weight[0] + grad_key @ qk_weight[1] + grad_value @ value_weight
    )
    added, grad_gain = norm_backward(grad_normalised, unit, rstd, attention_gain)
    grad_qk_weight = torch.stack([outer(grad_query, normalised), outer(grad_key, normalised)])
    of_output = outer(grad_middle, merge(weights @ value))
    return (
        grad_middle + added, grad_logits.sum(dim=0), grad_gain, grad_qk_weight,
        outer(grad_value, normalised), of_output, *of_mlp,
    )  # fmt: skip


def mlp_backward(grad_y, middle, gain, gate_weight, up_weight, down_weight):
    """Gradients of the block's input, the residual included, and of its four parameters."""
    unit, rstd = normalise(middle)
    normalised = unit * gain
    up = normalised @ up_weight.T
    opening, slope = gelu_and_slope(normalised @ gate_weight.T)
    grad_inner = grad_y @ down_weight
    grad_gate, grad_up = grad_inner * up * slope, grad_inner * opening
    grad_normalised = grad_gate @ gate_weight + grad_up @ up_weight
    added, grad_gain = norm_backward(grad_normalised, unit, rstd, gain)
    of_gate, of_up = outer(grad_gate, normalised), outer(grad_up, normalised)
    return grad_y + added, grad_gain, of_gate, of_up, outer(grad_y, opening * up)


def gelu_and_slope(wide):
    factor = math.sqrt(2.0 / math.pi)
    bent = torch.tanh(factor * (wide + 0.044715 * wide.pow(3)))
    steepness = factor * (1.0 + 3.0 * 0.044715 * wide.pow(2))
    slope = 0.5 * (1.0 + bent) + 0.5 * wide * (1.0 - bent.pow(2)) * steepness
    return 0.5 * wide * (1.0 + bent), slope


def normalise(x):
    rstd = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return x * rstd, rstd


def norm_backward(upstream, unit, rstd, gain):
    scaled = upstream * gain
    along = (scaled * unit).mean(dim=-1, keepdim=True)
    return (scaled - unit * along) * rstd, (upstream * unit).sum(dim=(0, 1))


def project(normalised, qk_weight, value_weight, heads):
    matrices = (*qk_weight, value_weight)
    return tuple(split(normalised @ matrix.T, heads) for matrix in matrices)


def split(values, heads):
    return values.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge(values):
    return values.transpose(1, 2).flatten(2)


def outer(upstream, inputs):
    """Gradient of a matrix, summed over all tokens."""
    return upstream.flatten(0, 1).T @ inputs.flatten(0, 1)
