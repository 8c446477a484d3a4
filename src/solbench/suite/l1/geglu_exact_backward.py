"""Backward of GeGLU with the exact GELU, in float16: the feed-forward of a diffusion U-Net's attention blocks.

Gate and value are halves of one projection's output, so the gradient is one tensor too. The value comes first.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="geglu_exact_backward_fp16_i5120",
    tier="L1",
    family="activation",
    direction="backward",
    models=(
        Model(
            "stabilityai/stable-diffusion-xl-base-1.0",
            "unet: block_out_channels 320, 640, 1280; feed-forward of 4 times the width",
            "diffusion", read="Stability-AI/generative-models: sd_xl_base.yaml",
        ),
    ),
    axes={"batch": var, "tokens": var, "inner": 5120, "two_inner": "2 * inner"},
    inputs={
        "grad_y": activation("float16[batch, tokens, inner]", draw.normal(std=0.1), EVERY_KIND),
        "projected": activation("float16[batch, tokens, two_inner]", draw.normal(std=1.5), EVERY_KIND),
    },
    outputs={"grad_projected": "float16[batch, tokens, two_inner]"},
    gradient=Gradient("forward", ("projected",), ("grad_y",), ("projected",)),
    workloads=rows(
        "batch tokens inner",
        (1, 1024, 5120), (1, 4096, 2560), (2, 1024, 5120), (2, 4096, 2560), (2, 960, 5120), (3, 777, 5120),
        (4, 1024, 5120), (4, 4096, 2560), (6, 1000, 2560), (8, 256, 5120), (8, 1024, 5120), (8, 4096, 2560),
        (16, 1024, 5120), (16, 576, 5120), (32, 1024, 5120), (64, 256, 5120),
    ),
    smoke=rows("batch tokens inner", (2, 5, 160), (1, 40, 640)),
)  # fmt: skip

import math

import torch


def forward(projected):
    value, gate = projected.to(torch.float32).chunk(2, dim=-1)
    return (value * gate * 0.5 * (1.0 + torch.erf(gate / math.sqrt(2.0)))).to(projected.dtype)


def run(grad_y, projected):
    value, gate = projected.to(torch.float32).chunk(2, dim=-1)
    upstream = grad_y.to(torch.float32)
    share = 0.5 * (1.0 + torch.erf(gate / math.sqrt(2.0)))
    density = torch.exp(-0.5 * gate.pow(2)) / math.sqrt(2.0 * math.pi)
    grad_value = upstream * gate * share
    grad_gate = upstream * value * (share + gate * density)
    return torch.cat([grad_value, grad_gate], dim=-1).to(projected.dtype)
