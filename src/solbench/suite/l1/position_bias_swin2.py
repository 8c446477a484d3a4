"""Continuous position bias of Swin v2: a small network turns log-spaced offsets into a bias per head.

The offsets of an 8 × 8 window are few (225); each pair of tokens looks its own up.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="position_bias_swin2_fp32_h6_w8",
    tier="L1",
    family="positional",
    models=(
        Model(
            "caidas/swin2SR-realworld-sr-x4-64-bsrgan-psnr",
            "window_size 8, num_heads 6, embed_dim 180",
            "vision", read="huggingface/transformers: configuration_swin2sr.py",
        ),
    ),
    axes={"windows": var, "heads": 6, "side": 8, "hidden": 512, "tokens": "side * side"},
    inputs={
        "scores": activation("float32[windows, heads, tokens, tokens]", draw.normal(), EVERY_KIND),
        "first": weight("float32[hidden, 2]", draw.weight_matrix()),
        "first_bias": weight("float32[hidden]", draw.normal(std=0.3)),
        "second": weight("float32[heads, hidden]", draw.weight_matrix()),
        "side": scalar("int32", "side"),
    },
    outputs={"biased": "float32[windows, heads, tokens, tokens]"},
    workloads=rows(
        "windows",
        *(1, 4, 16, 30, 64, 100, 144, 256, 400, 512, 777, 1024, 2048, 4096, 6000, 8192),
    ),
    smoke=rows("windows heads side hidden", (2, 3, 4, 32), (3, 6, 8, 64)),
)  # fmt: skip

import torch


def run(scores, first, first_bias, second, side):
    offset = torch.arange(1 - side, side, device=scores.device).to(torch.float32)
    spaced = offset.sign() * torch.log2(1.0 + 8.0 * offset.abs() / (side - 1)) / 3.0
    grid = torch.stack(torch.meshgrid(spaced, spaced, indexing="ij"), dim=-1)
    table = torch.relu(grid @ first.T + first_bias) @ second.T  # [offset row, offset column, head]
    place = torch.arange(side * side, device=scores.device)
    row, column = place // side, place % side
    bias = table[
        row[:, None] - row[None, :] + side - 1, column[:, None] - column[None, :] + side - 1
    ]
    return scores + 16.0 * torch.sigmoid(bias.permute(2, 0, 1))
