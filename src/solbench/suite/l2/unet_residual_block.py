"""Residual block of a diffusion U-Net in float16: twice GroupNorm, SiLU and a 3 × 3 convolution; a shortcut.

The timestep's vector is projected and added between. The shortcut is a 1 × 1 convolution: channels change.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="unet_residual_block_fp16_c640",
    tier="L2",
    family="diffusion_block",
    models=(
        Model(
            "stabilityai/stable-diffusion-xl-base-1.0",
            "unet: block_out_channels 320, 640, 1280, norm_num_groups 32, time embedding 1280",
            "diffusion", read="Stability-AI/generative-models: sd_xl_base.yaml",
        ),
    ),
    axes={"batch": var, "inputs": 320, "outputs": 640, "height": var, "width": var, "time": 1280, "groups": 32},
    inputs={
        "x": activation("float16[batch, inputs, height, width]", draw.normal(), EVERY_KIND),
        "embedding": activation("float16[batch, time]", draw.normal(), EVERY_KIND),
        "first_gain": weight("float16[inputs]", draw.norm_weight()),
        "first_shift": weight("float16[inputs]", draw.normal(std=0.1)),
        "first_kernel": weight("float16[outputs, inputs, 3, 3]", draw.weight_matrix(fan_in=2880)),
        "time_weight": weight("float16[outputs, time]", draw.weight_matrix()),
        "time_bias": weight("float16[outputs]", draw.normal(std=0.1)),
        "second_gain": weight("float16[outputs]", draw.norm_weight()),
        "second_shift": weight("float16[outputs]", draw.normal(std=0.1)),
        "second_kernel": weight("float16[outputs, outputs, 3, 3]", draw.weight_matrix(fan_in=5760)),
        "shortcut": weight("float16[outputs, inputs, 1, 1]", draw.weight_matrix(fan_in=320)),
        "groups": scalar("int32", "groups"),
    },
    outputs={"y": "float16[batch, outputs, height, width]"},
    workloads=rows(
        "batch inputs outputs height width",
        (1, 320, 640, 64, 64), (2, 320, 640, 64, 64), (2, 640, 1280, 32, 32), (2, 1920, 640, 64, 64),
        (2, 1280, 640, 64, 64), (2, 960, 640, 64, 64), (2, 640, 320, 128, 128), (2, 2560, 1280, 32, 32),
        (4, 320, 640, 64, 64), (4, 640, 1280, 32, 32), (3, 320, 640, 48, 80), (8, 320, 640, 32, 32),
        (8, 640, 1280, 16, 16), (16, 320, 640, 32, 32), (1, 960, 320, 111, 65), (4, 1920, 1280, 32, 32),
    ),
    smoke=rows(
        "batch inputs outputs height width time groups", (2, 16, 32, 5, 6, 24, 4), (1, 32, 16, 9, 8, 48, 8)
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, embedding, first_gain, first_shift, first_kernel, time_weight, time_bias,
    second_gain, second_shift, second_kernel, shortcut, groups,
):  # fmt: skip
    hidden = functional.conv2d(
        norm_silu(x, first_gain, first_shift, groups), first_kernel, padding=1
    )
    time = functional.silu(embedding) @ time_weight.T + time_bias
    hidden = hidden + time[:, :, None, None]
    hidden = norm_silu(hidden, second_gain, second_shift, groups)
    return functional.conv2d(hidden, second_kernel, padding=1) + functional.conv2d(x, shortcut)


def norm_silu(x, gain, shift, groups):
    wide = functional.group_norm(
        x.to(torch.float32), groups, gain.to(torch.float32), shift.to(torch.float32), eps=1e-5
    )
    return functional.silu(wide).to(x.dtype)
