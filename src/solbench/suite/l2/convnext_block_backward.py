"""Backward of a ConvNeXt V2 block in float32: depthwise convolution, norm, MLP with response norm, residual.

The forward kept the norm's result and reciprocal deviation, and the MLP's values before their GELU. The
response norm divides a channel's length over the image by the mean over channels, so its gradient couples all
pixels.
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

NORM = computed("normalise", "x", "kernel")
WANTED = (
    "x", "kernel", "kernel_bias", "gain", "shift", "up_weight", "up_bias", "response_gain", "response_shift",
    "down_weight", "down_bias",
)  # fmt: skip
PROBLEM = Problem(
    name="convnext_block_backward_fp32_c512",
    tier="L2",
    family="vision_block",
    direction="backward",
    models=(
        Model(
            "facebook/convnextv2-base-22k-224",
            "hidden_sizes 128, 256, 512, 1024; layer_norm_eps 1e-6",
            "vision", read="facebookresearch/ConvNeXt-V2: models/convnextv2.py",
        ),
    ),
    axes={"images": var, "height": var, "width": var, "channels": 512, "inner": "4 * channels"},
    inputs={
        "grad_y": activation("float32[images, channels, height, width]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[images, channels, height, width]", draw.normal()),
        "kernel": weight("float32[channels, 1, 7, 7]", draw.weight_matrix(fan_in=49)),
        "gain": weight("float32[channels]", draw.norm_weight()),
        "shift": weight("float32[channels]", draw.normal(std=0.1)),
        "up_weight": weight("float32[inner, channels]", draw.weight_matrix()),
        "response_gain": weight("float32[inner]", draw.normal(std=0.5)),
        "response_shift": weight("float32[inner]", draw.normal(std=0.1)),
        "down_weight": weight("float32[channels, inner]", draw.weight_matrix()),
        "normalised": activation("float32[images, height, width, channels]", NORM[0]),
        "rstd": activation("float32[images, height, width, 1]", NORM[1]),
        "up": activation(
            "float32[images, height, width, inner]",
            computed("expand", "normalised", "gain", "shift", "up_weight"),
        ),
    },
    outputs={
        "grad_x": "float32[images, channels, height, width]",
        "grad_kernel": "float32[channels, 1, 7, 7]",
        "grad_kernel_bias": "float32[channels]",
        "grad_gain": "float32[channels]",
        "grad_shift": "float32[channels]",
        "grad_up_weight": "float32[inner, channels]",
        "grad_up_bias": "float32[inner]",
        "grad_response_gain": "float32[inner]",
        "grad_response_shift": "float32[inner]",
        "grad_down_weight": "float32[channels, inner]",
        "grad_down_bias": "float32[channels]",
    },
    gradient=Gradient("forward", WANTED, ("grad_y",), WANTED),
    workloads=rows(
        "images height width",
        (1, 14, 14), (1, 24, 24), (1, 32, 32), (2, 14, 14), (2, 20, 27), (4, 14, 14), (4, 24, 24), (8, 14, 14),
        (8, 24, 24), (16, 14, 14), (24, 14, 14), (32, 14, 14), (32, 24, 24), (64, 14, 14), (64, 16, 12),
        (128, 14, 14),
    ),
    smoke=rows("images height width channels", (2, 5, 6, 16), (1, 9, 8, 32)),
)  # fmt: skip

import torch
from torch.nn import functional


def normalise(x, kernel, kernel_bias=None):
    convolved = functional.conv2d(x, kernel, kernel_bias, padding=3, groups=kernel.shape[0])
    pixels = convolved.permute(0, 2, 3, 1)
    centred = pixels - pixels.mean(dim=-1, keepdim=True)
    rstd = torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (centred * rstd).contiguous(), rstd


def expand(normalised, gain, shift, up_weight):
    return (normalised * gain + shift) @ up_weight.T


def response(inner):
    """A channel's length over the image, the mean of these lengths, and their ratio."""
    length = inner.pow(2).sum(dim=(1, 2), keepdim=True).sqrt()
    mean = length.mean(dim=-1, keepdim=True) + 1e-6
    return length, mean, length / mean


def forward(
    x, kernel, kernel_bias, gain, shift, up_weight, up_bias, response_gain, response_shift, down_weight,
    down_bias,
):  # fmt: skip
    normalised, _ = normalise(x, kernel, kernel_bias)
    inner = functional.gelu(expand(normalised, gain, shift, up_weight) + up_bias)
    ratio = response(inner)[2]
    weighed = response_gain * (inner * ratio) + response_shift + inner
    return x + (weighed @ down_weight.T + down_bias).permute(0, 3, 1, 2)


def run(
    grad_y, x, kernel, gain, shift, up_weight, response_gain, response_shift, down_weight, normalised, rstd, up,
):  # fmt: skip
    upstream = grad_y.permute(0, 2, 3, 1)  # channels last, as the MLP has them
    inner = functional.gelu(up)
    length, mean, ratio = response(inner)
    weighed = response_gain * (inner * ratio) + response_shift + inner
    grad_down_weight = upstream.flatten(0, 2).T @ weighed.flatten(0, 2)
    grad_weighed = upstream @ down_weight
    grad_response_gain = (grad_weighed * inner * ratio).sum(dim=(0, 1, 2))
    grad_ratio = (grad_weighed * response_gain * inner).sum(dim=(1, 2), keepdim=True)
    shared = (grad_ratio * ratio).mean(dim=-1, keepdim=True)
    grad_length = (grad_ratio - shared) / mean
    grad_inner = grad_weighed * (1.0 + response_gain * ratio) + grad_length * inner / length
    below = 0.5 * (1.0 + torch.erf(up * 0.5**0.5))
    density = torch.exp(-0.5 * up * up) * (2.0 * torch.pi) ** -0.5
    grad_up = grad_inner * (below + up * density)
    grad_up_weight = grad_up.flatten(0, 2).T @ (normalised * gain + shift).flatten(0, 2)
    grad_affine = grad_up @ up_weight
    scaled = grad_affine * gain
    centred = scaled - scaled.mean(dim=-1, keepdim=True)
    along = (scaled * normalised).mean(dim=-1, keepdim=True)
    grad_convolved = ((centred - normalised * along) * rstd).permute(0, 3, 1, 2)
    grad_x = functional.conv2d(grad_convolved, kernel.flip(2, 3), padding=3, groups=kernel.shape[0])
    return (
        grad_y + grad_x, kernel_gradient(grad_convolved, x), grad_convolved.sum(dim=(0, 2, 3)),
        (grad_affine * normalised).sum(dim=(0, 1, 2)), grad_affine.sum(dim=(0, 1, 2)),
        grad_up_weight, grad_up.sum(dim=(0, 1, 2)), grad_response_gain, grad_weighed.sum(dim=(0, 1, 2)),
        grad_down_weight, upstream.sum(dim=(0, 1, 2)),
    )  # fmt: skip


def kernel_gradient(gradient, x):
    """One number a channel and place of the kernel: a product with the image moved there."""
    height, width = x.shape[2:]
    padded = functional.pad(x, (3, 3, 3, 3))
    places = [
        (gradient * padded[:, :, row : row + height, column : column + width]).sum(dim=(0, 2, 3))
        for row in range(7)
        for column in range(7)
    ]
    return torch.stack(places, dim=-1).unflatten(-1, (1, 7, 7))
