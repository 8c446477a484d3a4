"""Backward of a pre-norm GELU MLP with biases and residual, in float32: the input and all parameters.

Mean and reciprocal deviation of the norm were kept; what the wide product gives is computed again.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    var,
    weight,
)

SAVED = computed("statistics", "x")
PROBLEM = Problem(
    name="mlp_block_layernorm_backward_fp32_h1280_i5120",
    tier="L2",
    family="mlp_block",
    direction="backward",
    models=(
        Model(
            "openai/whisper-large-v3",
            "d_model 1280, encoder_ffn_dim 5120, gelu",
            "audio", read="k2-fsa/sherpa-onnx: scripts/whisper/model-info.md",
        ),
    ),
    axes={"num_rows": var, "hidden": 1280, "inner": 5120},
    inputs={
        "grad_y": activation("float32[num_rows, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[num_rows, hidden]", draw.normal(mean=0.3, std=2.0)),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "mean": activation("float32[num_rows, 1]", SAVED[0]),
        "rstd": activation("float32[num_rows, 1]", SAVED[1]),
    },
    outputs={
        "grad_x": "float32[num_rows, hidden]",
        "grad_gain": "float32[hidden]",
        "grad_shift": "float32[hidden]",
        "grad_up_weight": "float32[inner, hidden]",
        "grad_up_bias": "float32[inner]",
        "grad_down_weight": "float32[hidden, inner]",
        "grad_down_bias": "float32[hidden]",
    },
    gradient=Gradient(
        "forward", ("x", "gain", "shift", "up_weight", "up_bias", "down_weight", "down_bias"), ("grad_y",),
        ("x", "gain", "shift", "up_weight", "up_bias", "down_weight", "down_bias"),
    ),
    workloads=rows(
        "num_rows",
        *(50, 128, 256, 500, 750, 1024, 1500, 2048, 3000, 4096, 6000, 8192, 12000, 16384, 24000, 32768),
    ),
    smoke=rows("num_rows hidden inner", (6, 48, 96), (30, 96, 160)),
)  # fmt: skip

import math

import torch
from torch.nn import functional


def statistics(x):
    mean = x.mean(dim=-1, keepdim=True)
    return mean, torch.rsqrt((x - mean).pow(2).mean(dim=-1, keepdim=True) + 1e-5)


def forward(x, gain, shift, up_weight, up_bias, down_weight, down_bias):
    mean, rstd = statistics(x)
    wide = ((x - mean) * rstd * gain + shift) @ up_weight.T + up_bias
    return x + functional.gelu(wide) @ down_weight.T + down_bias


def run(grad_y, x, gain, shift, up_weight, up_bias, down_weight, mean, rstd):
    normalised = (x - mean) * rstd
    scaled = normalised * gain + shift
    wide = scaled @ up_weight.T + up_bias
    share = 0.5 * (1.0 + torch.erf(wide * math.sqrt(0.5)))  # of the normal distribution below it
    density = torch.exp(-0.5 * wide.pow(2)) / math.sqrt(2.0 * math.pi)
    grad_wide = (grad_y @ down_weight) * (share + wide * density)
    grad_scaled = grad_wide @ up_weight
    upstream = grad_scaled * gain
    along = (upstream * normalised).mean(dim=-1, keepdim=True)
    centred = upstream - upstream.mean(dim=-1, keepdim=True) - normalised * along
    return (
        grad_y + centred * rstd,
        (grad_scaled * normalised).sum(dim=0),
        grad_scaled.sum(dim=0),
        grad_wide.T @ scaled,
        grad_wide.sum(dim=0),
        grad_y.T @ (wide * share),
        grad_y.sum(dim=0),
    )
