"""Block of an image restorer without activation functions, in float32: products of halves of the channels.

First half: norm by pixel, 1 × 1 and 3 × 3 depthwise convolution, product of halves, channel attention from
the image's mean, 1 × 1 convolution. Second half: norm, 1 × 1, product, 1 × 1. Each joins with a learnt scale.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="restoration_block_fp32_c64",
    tier="L2",
    family="vision_block",
    models=(
        Model(
            "mikestealth/nafnet-models",
            "width 64, DW_Expand 2, FFN_Expand 2, SimpleGate, simplified channel attention "
            "(NAFNet paper)",
            "vision", read="megvii-research/NAFNet: options/test/SIDD/NAFNet-width64.yml",
        ),
    ),
    axes={"images": var, "channels": 64, "height": var, "width": var, "wide": "2 * channels"},
    inputs={
        "x": activation("float32[images, channels, height, width]", draw.normal(), EVERY_KIND),
        "first_gain": weight("float32[channels]", draw.norm_weight()),
        "first_shift": weight("float32[channels]", draw.normal(std=0.1)),
        "first_expand": weight("float32[wide, channels]", draw.weight_matrix()),
        "first_expand_bias": weight("float32[wide]", draw.normal(std=0.2)),
        "kernel": weight("float32[wide, 1, 3, 3]", draw.weight_matrix(fan_in=9)),
        "kernel_bias": weight("float32[wide]", draw.normal(std=0.2)),
        "attention_weight": weight("float32[channels, channels]", draw.weight_matrix()),
        "attention_bias": weight("float32[channels]", draw.normal(mean=1.0, std=0.2)),
        "first_reduce": weight("float32[channels, channels]", draw.weight_matrix()),
        "first_scale": weight("float32[channels]", draw.normal(mean=0.5, std=0.2)),
        "second_gain": weight("float32[channels]", draw.norm_weight()),
        "second_shift": weight("float32[channels]", draw.normal(std=0.1)),
        "second_expand": weight("float32[wide, channels]", draw.weight_matrix()),
        "second_reduce": weight("float32[channels, channels]", draw.weight_matrix()),
        "second_scale": weight("float32[channels]", draw.normal(mean=0.5, std=0.2)),
    },
    outputs={"y": "float32[images, channels, height, width]"},
    workloads=rows(
        "images channels height width",
        (1, 64, 64, 64), (1, 64, 128, 128), (1, 64, 256, 256), (1, 64, 512, 512), (1, 64, 720, 1280),
        (1, 64, 333, 500), (1, 128, 128, 128), (1, 128, 360, 640), (1, 256, 64, 64), (1, 256, 180, 320),
        (1, 512, 32, 32), (4, 64, 256, 256), (4, 128, 128, 128), (8, 64, 128, 128), (8, 256, 64, 64),
        (16, 512, 16, 16),
    ),
    smoke=rows("images channels height width", (2, 16, 9, 7), (1, 48, 12, 16)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, first_gain, first_shift, first_expand, first_expand_bias, kernel, kernel_bias, attention_weight,
    attention_bias, first_reduce, first_scale, second_gain, second_shift, second_expand, second_reduce,
    second_scale,
):  # fmt: skip
    wide = mix(norm(x, first_gain, first_shift), first_expand) + first_expand_bias[:, None, None]
    wide = functional.conv2d(wide, kernel, kernel_bias, padding=1, groups=kernel.shape[0])
    gated = product_of_halves(wide)
    weights = gated.mean(dim=(2, 3)) @ attention_weight.T + attention_bias
    reduced = mix(gated * weights[:, :, None, None], first_reduce)
    x = x + first_scale[:, None, None] * reduced
    wide = mix(norm(x, second_gain, second_shift), second_expand)
    return x + second_scale[:, None, None] * mix(product_of_halves(wide), second_reduce)


def mix(image, matrix):
    """A 1 × 1 convolution."""
    return functional.conv2d(image, matrix[:, :, None, None])


def product_of_halves(image):
    first, second = image.chunk(2, dim=1)
    return first * second


def norm(image, gain, shift):
    """Over the channels of each pixel."""
    centred = image - image.mean(dim=1, keepdim=True)
    scale = torch.rsqrt(centred.pow(2).mean(dim=1, keepdim=True) + 1e-6)
    return centred * scale * gain[:, None, None] + shift[:, None, None]
