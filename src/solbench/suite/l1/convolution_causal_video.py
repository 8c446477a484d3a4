"""Causal 3 × 3 × 3 convolution of a video autoencoder: a frame sees itself and the two before it.

Time is padded with zeros in front only, so the first frame sees nothing but itself.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convolution_causal_video_bf16_c192",
    tier="L1",
    family="convolution",
    models=(
        Model(
            "Wan-AI/Wan2.2-T2V-A14B",
            "vae: dim 96, dim_mult 1, 2, 4, 4, causal 3 × 3 × 3",
            "video", read="Wan2.2: wan/configs/wan_t2v_A14B.py",
        ),
    ),
    axes={"inputs": 192, "outputs": 192, "frames": var, "height": var, "width": var},
    inputs={
        "x": activation("bfloat16[1, inputs, frames, height, width]", draw.normal(), EVERY_KIND),
        "kernel": weight("bfloat16[outputs, inputs, 3, 3, 3]", draw.weight_matrix(fan_in=5184)),
        "bias": weight("bfloat16[outputs]", draw.normal(std=0.1)),
    },
    outputs={"y": "bfloat16[1, outputs, frames, height, width]"},
    workloads=rows(
        "inputs outputs frames height width",
        (384, 384, 1, 60, 104), (384, 384, 5, 60, 104), (384, 384, 21, 30, 52), (192, 192, 1, 120, 208),
        (192, 192, 4, 120, 208), (192, 192, 9, 60, 104), (192, 384, 5, 60, 104), (96, 96, 1, 240, 416),
        (96, 96, 4, 240, 416), (96, 192, 8, 120, 208), (96, 96, 2, 480, 832), (192, 192, 3, 111, 77),
        (384, 384, 2, 90, 160), (384, 192, 4, 120, 208), (192, 96, 4, 240, 416), (96, 96, 13, 100, 100),
    ),
    smoke=rows("inputs outputs frames height width", (16, 24, 3, 5, 6), (32, 16, 5, 8, 7)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(x, kernel, bias):
    return functional.conv3d(functional.pad(x, (1, 1, 1, 1, 2, 0)), kernel, bias)
