"""A whole ConvNeXt V2 block in float32: depthwise 7 × 7, LayerNorm, GELU MLP with response norm, residual."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convnext_block_fp32_c512",
    tier="L2",
    family="vision_block",
    models=(
        Model(
            "facebook/convnextv2-base-22k-224",
            "hidden_sizes 128, 256, 512, 1024; kernel 7",
            "vision", read="facebookresearch/ConvNeXt-V2: models/convnextv2.py",
        ),
    ),
    axes={"batch": var, "channels": 512, "inner": "4 * channels", "height": var, "width": var},
    inputs={
        "x": activation("float32[batch, channels, height, width]", draw.normal(), EVERY_KIND),
        "kernel": weight("float32[channels, 1, 7, 7]", draw.weight_matrix(fan_in=49)),
        "kernel_bias": weight("float32[channels]", draw.normal(std=0.2)),
        "norm_gain": weight("float32[channels]", draw.norm_weight()),
        "norm_shift": weight("float32[channels]", draw.normal(std=0.1)),
        "expand": weight("float32[inner, channels]", draw.weight_matrix()),
        "expand_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "response_gain": weight("float32[inner]", draw.normal(std=0.5)),
        "response_shift": weight("float32[inner]", draw.normal(std=0.2)),
        "reduce": weight("float32[channels, inner]", draw.weight_matrix()),
    },
    outputs={"y": "float32[batch, channels, height, width]"},
    workloads=rows(
        "batch channels height width",
        (1, 512, 14, 14), (1, 128, 56, 56), (1, 1024, 12, 12), (1, 512, 24, 24), (2, 256, 48, 48),
        (2, 128, 96, 96), (4, 512, 14, 14), (4, 1024, 7, 7), (8, 512, 24, 24), (8, 256, 28, 28),
        (16, 128, 56, 56), (16, 512, 14, 14), (32, 1024, 7, 7), (32, 512, 14, 14), (3, 512, 19, 31),
        (64, 512, 14, 14),
    ),
    smoke=rows("batch channels height width", (1, 16, 8, 9), (2, 24, 10, 7)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, kernel, kernel_bias, norm_gain, norm_shift, expand, expand_bias, response_gain, response_shift, reduce,
):  # fmt: skip
    mixed = functional.conv2d(x, kernel, kernel_bias, padding=3, groups=x.shape[1]).permute(
        0, 2, 3, 1
    )
    centred = mixed - mixed.mean(dim=-1, keepdim=True)
    normalised = centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    inner = functional.gelu((normalised * norm_gain + norm_shift) @ expand.T + expand_bias)
    size = inner.pow(2).sum(dim=(1, 2), keepdim=True).sqrt()
    share = size / (size.mean(dim=-1, keepdim=True) + 1e-6)
    inner = inner + response_gain * inner * share + response_shift
    return x + (inner @ reduce.T).permute(0, 3, 1, 2)
