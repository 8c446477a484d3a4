"""Backward of ConvNeXt V2's global response normalisation: gradients of the image, gain and bias.

Each channel was rescaled by its L2 norm over the image, divided by the mean norm of all channels: every element
has a part in the scale of all others of its image.
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

PROBLEM = Problem(
    name="global_response_norm_backward_fp32_c2048",
    tier="L1",
    family="norm",
    direction="backward",
    models=(
        Model(
            "facebook/convnextv2-base-22k-224",
            "hidden_sizes 128, 256, 512, 1024; the inner width of a block is 4 times that",
            "vision", read="facebookresearch/ConvNeXt-V2: models/convnextv2.py",
        ),
    ),
    axes={"batch": var, "height": var, "width": var, "channels": 2048},
    inputs={
        "grad_y": activation("float32[batch, height, width, channels]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, height, width, channels]", draw.normal(mean=0.3)),
        "gain": weight("float32[channels]", draw.norm_weight(center=0.5)),
        "size": activation("float32[batch, 1, 1, channels]", computed("norms", "x")),
    },
    outputs={
        "grad_x": "float32[batch, height, width, channels]",
        "grad_gain": "float32[channels]",
        "grad_bias": "float32[channels]",
    },
    gradient=Gradient("forward", ("x", "gain", "bias"), ("grad_y",), ("x", "gain", "bias")),
    workloads=rows(
        "batch height width channels",
        (1, 14, 14, 2048), (1, 56, 56, 512), (1, 28, 28, 1024), (1, 7, 7, 4096),
        (4, 14, 14, 2048), (4, 28, 28, 768), (8, 14, 14, 2048), (8, 56, 56, 384),
        (16, 7, 7, 4096), (16, 28, 28, 1024), (32, 14, 14, 2048), (32, 56, 56, 512),
        (64, 14, 14, 1536), (64, 7, 7, 3072), (3, 24, 24, 2048), (2, 17, 31, 1024),
    ),
    smoke=rows("batch height width channels", (2, 4, 5, 64), (1, 14, 14, 256)),
)  # fmt: skip

import torch


def norms(x):
    return x.pow(2).sum(dim=(1, 2), keepdim=True).sqrt()  # [batch, 1, 1, channels]


def forward(x, gain, bias):
    size = norms(x)
    share = size / (size.mean(dim=-1, keepdim=True) + 1e-6)
    return gain * (x * share) + bias + x


def run(grad_y, x, gain, size):
    mean = size.mean(dim=-1, keepdim=True) + 1e-6
    share = size / mean
    grad_gain = (grad_y * x * share).sum(dim=(0, 1, 2))
    grad_share = (grad_y * gain * x).sum(dim=(1, 2), keepdim=True)
    grad_mean = -(grad_share * share).sum(dim=-1, keepdim=True) / mean
    grad_size = grad_share / mean + grad_mean / size.shape[-1]
    grad_x = grad_y * (gain * share + 1.0) + grad_size * x / size
    return grad_x, grad_gain, grad_y.sum(dim=(0, 1, 2))
