"""Backward of GroupNorm in float32: gradients of the feature map, the gain and the bias.

Each group of channels of one image shares a mean and a reciprocal deviation, saved by the forward pass.
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
    name="groupnorm_backward_fp32_c320",
    tier="L1",
    family="norm",
    direction="backward",
    models=(
        Model(
            "stable-diffusion-v1-5/stable-diffusion-v1-5",
            "unet: block_out_channels 320, 640, 1280, 1280, norm_num_groups 32, sample_size 64",
            "diffusion", read="CompVis/stable-diffusion: v1-inference.yaml",
        ),
    ),
    axes={"batch": var, "channels": 320, "height": var, "width": var},
    inputs={
        "grad_y": activation("float32[batch, channels, height, width]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, channels, height, width]", draw.normal(mean=0.2, std=1.5)),
        "gain": weight("float32[channels]", draw.norm_weight()),
        "mean": activation("float32[batch, 32, 1]", SAVED[0]),
        "rstd": activation("float32[batch, 32, 1]", SAVED[1]),
    },
    outputs={
        "grad_x": "float32[batch, channels, height, width]",
        "grad_gain": "float32[channels]",
        "grad_bias": "float32[channels]",
    },
    gradient=Gradient("forward", ("x", "gain", "bias"), ("grad_y",), ("x", "gain", "bias")),
    workloads=rows(
        "batch channels height width",
        (1, 320, 64, 64), (1, 640, 32, 32), (1, 1280, 16, 16), (2, 320, 64, 64),
        (2, 640, 32, 32), (2, 960, 64, 64), (4, 320, 64, 64), (4, 1280, 8, 8),
        (4, 640, 48, 40), (8, 320, 64, 64), (8, 1920, 32, 32), (16, 640, 32, 32),
        (16, 1280, 16, 16), (32, 320, 64, 64), (32, 1280, 8, 8), (3, 320, 72, 56),
    ),
    smoke=rows("batch channels height width", (2, 64, 4, 6), (1, 128, 9, 8)),
)  # fmt: skip

import torch


def statistics(x):
    grouped = x.reshape(x.shape[0], 32, -1)
    mean = grouped.mean(dim=-1, keepdim=True)
    variance = (grouped - mean).pow(2).mean(dim=-1, keepdim=True)
    return mean, torch.rsqrt(variance + 1e-5)


def forward(x, gain, bias):
    mean, rstd = statistics(x)
    normalised = ((x.reshape(x.shape[0], 32, -1) - mean) * rstd).view(x.shape)
    return normalised * gain.view(1, -1, 1, 1) + bias.view(1, -1, 1, 1)


def run(grad_y, x, gain, mean, rstd):
    batch = x.shape[0]
    normalised = (x.reshape(batch, 32, -1) - mean) * rstd
    scaled = (grad_y * gain.view(1, -1, 1, 1)).reshape(batch, 32, -1)
    along = (scaled * normalised).mean(dim=-1, keepdim=True)
    grad_x = (scaled - scaled.mean(dim=-1, keepdim=True) - normalised * along) * rstd
    grad_gain = (grad_y * normalised.view(x.shape)).sum(dim=(0, 2, 3))
    return grad_x.view(x.shape), grad_gain, grad_y.sum(dim=(0, 2, 3))
