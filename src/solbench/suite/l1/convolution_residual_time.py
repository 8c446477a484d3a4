"""A 3 × 3 convolution of a diffusion U-Net in float16, plus the timestep's vector at every pixel."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convolution_residual_time_fp16_c640",
    tier="L1",
    family="convolution",
    models=(
        Model(
            "stabilityai/stable-diffusion-xl-base-1.0",
            "unet: block_out_channels 320, 640, 1280, time_embed_dim 1280",
            "diffusion", read="Stability-AI/generative-models: sd_xl_base.yaml",
        ),
    ),
    axes={"batch": var, "inputs": 640, "outputs": 640, "height": var, "width": var},
    inputs={
        "x": activation("float16[batch, inputs, height, width]", draw.normal(), EVERY_KIND),
        "kernel": weight("float16[outputs, inputs, 3, 3]", draw.weight_matrix(fan_in=5760)),
        "bias": weight("float16[outputs]", draw.normal(std=0.1)),
        "time": activation("float16[batch, outputs]", draw.normal(), EVERY_KIND),
    },
    outputs={"y": "float16[batch, outputs, height, width]"},
    workloads=rows(
        "batch inputs outputs height width",
        (1, 640, 640, 64, 64), (2, 640, 640, 64, 64), (2, 320, 320, 128, 128), (2, 1280, 1280, 32, 32),
        (2, 320, 640, 64, 64), (2, 1920, 1280, 32, 32), (2, 960, 640, 64, 64), (4, 640, 640, 64, 64),
        (4, 640, 640, 48, 80), (4, 1280, 1280, 32, 32), (8, 320, 320, 64, 64), (8, 1280, 1280, 16, 16),
        (8, 640, 640, 32, 32), (16, 640, 640, 32, 32), (3, 640, 1280, 33, 27), (1, 2560, 1280, 32, 32),
    ),
    smoke=rows("batch inputs outputs height width", (2, 32, 48, 5, 7), (1, 64, 32, 12, 9)),
)  # fmt: skip

import torch


def run(x, kernel, bias, time):
    y = torch.nn.functional.conv2d(x, kernel, bias, padding=1)
    return y + time[:, :, None, None]
