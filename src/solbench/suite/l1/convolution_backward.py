"""Backward of a 3 × 3 convolution in float32: input, kernel and bias, written as convolutions themselves.

The input's gradient is the upstream gradient convolved with the kernel turned round; the kernel's gradient is
the input convolved with the upstream gradient, images taking the place of channels.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convolution_backward_fp32_c320",
    tier="L1",
    family="convolution",
    direction="backward",
    models=(
        Model(
            "stable-diffusion-v1-5/stable-diffusion-v1-5",
            "unet: block_out_channels 320, 640, 1280, 1280, sample_size 64",
            "diffusion", read="CompVis/stable-diffusion: v1-inference.yaml",
        ),
    ),
    axes={"batch": var, "inputs": 320, "outputs": 320, "height": var, "width": var},
    inputs={
        "grad_y": activation("float32[batch, outputs, height, width]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, inputs, height, width]", draw.normal(), EVERY_KIND),
        "kernel": weight("float32[outputs, inputs, 3, 3]", draw.weight_matrix(fan_in=2880)),
    },
    outputs={
        "grad_x": "float32[batch, inputs, height, width]",
        "grad_kernel": "float32[outputs, inputs, 3, 3]",
        "grad_bias": "float32[outputs]",
    },
    gradient=Gradient("forward", ("x", "kernel", "bias"), ("grad_y",), ("x", "kernel", "bias")),
    workloads=rows(
        "batch inputs outputs height width",
        (1, 320, 320, 64, 64), (1, 640, 640, 32, 32), (1, 1280, 1280, 16, 16), (2, 320, 320, 64, 64),
        (2, 640, 640, 32, 32), (2, 1280, 1280, 8, 8), (2, 320, 640, 32, 32), (4, 320, 320, 64, 64),
        (4, 640, 640, 32, 32), (4, 960, 320, 64, 64), (4, 1280, 1280, 16, 16), (8, 320, 320, 32, 32),
        (8, 640, 640, 16, 16), (3, 320, 320, 40, 56), (16, 640, 1280, 16, 16), (16, 320, 4, 64, 64),
    ),
    smoke=rows("batch inputs outputs height width", (2, 8, 12, 5, 6), (3, 16, 8, 9, 8)),
)  # fmt: skip

import torch
from torch.nn import functional


def forward(x, kernel, bias):
    return functional.conv2d(x, kernel, bias, padding=1)


def run(grad_y, x, kernel):
    turned = kernel.flip(2, 3).transpose(0, 1)
    grad_x = functional.conv2d(grad_y, turned, padding=1)
    grad_kernel = functional.conv2d(x.transpose(0, 1), grad_y.transpose(0, 1), padding=1)
    return grad_x, grad_kernel.transpose(0, 1), grad_y.sum(dim=(0, 2, 3))
