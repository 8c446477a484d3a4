"""Selective scan over an image in float32: projection, depthwise convolution, four scans, norm, gate, output.

The pixels are read by rows and by columns, each forwards and backwards. Every scan has its own step sizes, B
and C, made from the pixels; a channel's state of 16 numbers fades and is written to at each pixel. The four
results are put back in place and added.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="selective_scan_image_fp32_c384",
    tier="L2",
    family="vision_block",
    models=(
        Model(
            "MzeroMiko/VMamba",
            "vssm tiny: dims 96, doubled a stage (third: 384), ssm_d_state 16, ssm_ratio 2.0, "
            "dt_rank auto",
            "vision", read="MzeroMiko/VMamba: configs/vssm/vssm_tiny_224.yaml",
        ),
    ),
    axes={
        "images": var, "height": var, "width": var, "channels": 384, "state": 16, "rank": "channels // 16",
        "inner": "2 * channels", "both": "2 * inner", "made": "rank + 2 * state",
    },
    inputs={
        "x": activation(
            "float32[images, height, width, channels]", draw.normal(), ("sign", "outliers", "sparsity")
        ),
        "input_weight": weight("float32[both, channels]", draw.weight_matrix()),
        "kernel": weight("float32[inner, 1, 3, 3]", draw.weight_matrix(fan_in=9)),
        "kernel_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "made_weight": weight("float32[4, made, inner]", draw.weight_matrix()),
        "step_weight": weight("float32[4, inner, rank]", draw.weight_matrix()),
        "step_bias": weight("float32[4, inner]", draw.normal(mean=-3.0)),
        "log_rate": weight("float32[4, inner, state]", draw.uniform(low=0.0, high=2.7)),
        "skip": weight("float32[4, inner]", draw.normal(mean=1.0, std=0.2)),
        "gain": weight("float32[inner]", draw.norm_weight()),
        "shift": weight("float32[inner]", draw.normal(std=0.1)),
        "output_weight": weight("float32[channels, inner]", draw.weight_matrix()),
    },
    outputs={"y": "float32[images, height, width, channels]"},
    workloads=rows(
        "images height width",
        (1, 7, 7), (1, 10, 10), (1, 12, 12), (1, 14, 14), (2, 7, 7), (2, 14, 14), (3, 9, 13), (4, 12, 12),
        (4, 14, 14), (8, 7, 7), (8, 14, 14), (16, 10, 14), (16, 14, 14), (32, 14, 14), (64, 14, 14),
        (128, 14, 14),
    ),
    smoke=rows("images height width channels state", (2, 3, 4, 32, 4), (1, 4, 5, 48, 8)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, input_weight, kernel, kernel_bias, made_weight, step_weight, step_bias, log_rate, skip, gain, shift,
    output_weight,
):  # fmt: skip
    inner, rank, state = gain.shape[0], step_weight.shape[-1], log_rate.shape[-1]
    mixed, gate = (x @ input_weight.T).chunk(2, dim=-1)
    image = functional.conv2d(
        mixed.permute(0, 3, 1, 2), kernel, kernel_bias, padding=1, groups=inner
    )
    pixels = four_readings(functional.silu(image))  # [images, 4, inner, pixels]
    step, b, c = (made_weight @ pixels).split([rank, state, state], dim=2)
    step = functional.softplus(step_weight @ step + step_bias[..., None])
    read = scan(pixels, step, b, c, -torch.exp(log_rate)) + skip[..., None] * pixels
    merged = put_back(read, *x.shape[1:3])  # [images, height, width, inner]
    normalised = functional.layer_norm(merged, (inner,), gain, shift, eps=1e-5)
    return x + (normalised * functional.silu(gate)) @ output_weight.T


def four_readings(image):
    by_row, by_column = image.flatten(2), image.transpose(2, 3).flatten(2)
    return torch.stack([by_row, by_column, by_row.flip(-1), by_column.flip(-1)], dim=1)


def put_back(read, height, width):
    by_row = read[:, 0] + read[:, 2].flip(-1)
    by_column = read[:, 1] + read[:, 3].flip(-1)
    image = by_row.unflatten(-1, (height, width))
    image = image + by_column.unflatten(-1, (width, height)).transpose(2, 3)
    return image.permute(0, 2, 3, 1)


def scan(pixels, step, b, c, rate):
    state, read = torch.zeros_like(pixels[..., :1] * rate), []
    for pixel in range(pixels.shape[-1]):
        size = step[..., pixel, None]
        written = size * pixels[..., pixel, None] * b[:, :, None, :, pixel]
        state = torch.exp(size * rate) * state + written
        read.append((state * c[:, :, None, :, pixel]).sum(dim=-1))
    return torch.stack(read, dim=-1)
