"""Learnt positions of a 48 × 48 grid, interpolated to an image of any shape and added to its patches.

Bilinear between the four neighbours of each patch; the corners of grid and image coincide.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="position_interpolation_bf16_h1152",
    tier="L1",
    family="positional",
    models=(
        Model(
            "Qwen/Qwen3-VL-30B-A3B-Instruct",
            "vision_config: hidden_size 1152, num_position_embeddings 2304",
            "multimodal",
            read="THUDM/slime: qwen3-vl-30b-a3b.sh; huggingface/transformers: configuration_qwen3_vl_moe.py",
        ),
        Model(
            "Qwen/Qwen3-VL-235B-A22B-Instruct",
            "vision_config: hidden_size 1152",
            "multimodal",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-VL-235B-A22B-Thinking",
        ),
        Model(
            "Qwen/Qwen3-VL-32B-Instruct",
            "vision_config: hidden_size 1152, num_position_embeddings 2304",
            "multimodal",
            read="Qwen3-VL report, arXiv 2511.21631, section 2; config.json of a tuned 32B, quanliang/F1",
        ),
    ),
    axes={"height": var, "width": var, "hidden": 1152, "side": 48, "grid": "side * side"},
    inputs={
        "patches": activation("bfloat16[height, width, hidden]", draw.normal(), EVERY_KIND),
        "table": weight("bfloat16[grid, hidden]", draw.normal()),
        "side": scalar("int32", "side"),
    },
    outputs={"embedded": "bfloat16[height, width, hidden]"},
    workloads=rows(
        "height width",
        (8, 8), (14, 20), (24, 24), (28, 40), (32, 32), (36, 64), (48, 48), (50, 38),
        (60, 80), (64, 64), (72, 128), (96, 96), (100, 60), (128, 128), (160, 90), (200, 200),
    ),
    smoke=rows("height width hidden side", (3, 5, 32, 6), (9, 7, 64, 8)),
)  # fmt: skip

import torch


def run(patches, table, side):
    height, width, _ = patches.shape
    row_low, row_high, row_part = neighbours(height, side, patches.device)
    column_low, column_high, column_part = neighbours(width, side, patches.device)
    grid = table.to(torch.float32).view(side, side, -1)
    lower, upper = grid[row_low], grid[row_high]  # [height, side, hidden]
    along_rows = lower + (upper - lower) * row_part[:, None, None]
    left, right = along_rows[:, column_low], along_rows[:, column_high]
    between = left + (right - left) * column_part[None, :, None]
    return (patches.to(torch.float32) + between).to(patches.dtype)


def neighbours(size, side, device):
    """For each of ``size`` places: the grid point at or before it, the one after, and the part of the way."""
    place = torch.arange(size, device=device).to(torch.float32) * ((side - 1) / max(size - 1, 1))
    low = place.floor().long().clamp_max(side - 1)
    return low, (low + 1).clamp_max(side - 1), place - low
