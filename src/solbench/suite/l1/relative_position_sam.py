"""Decomposed relative position of a segmentation encoder: scores get a row part and a column part.

Each part is the query times a learnt vector for the distance in rows (or columns) between query and key.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="relative_position_sam_fp32_h16_d80",
    tier="L1",
    family="positional",
    models=(
        Model(
            "facebook/sam-vit-huge",
            "vision_config: hidden_size 1280, num_attention_heads 16, window_size 14, image 64"
            " × 64 patches",
            "vision", read="facebookresearch/segment-anything: build_sam.py",
        ),
    ),
    axes={
        "batch_heads": var, "side": 14, "head_dim": 80,
        "tokens": "side * side", "distances": "2 * side - 1",
    },
    inputs={
        "query": activation("float32[batch_heads, tokens, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("float32[batch_heads, tokens, head_dim]", draw.normal(), EVERY_KIND),
        "row_table": weight("float32[distances, head_dim]", draw.normal(std=0.1)),
        "column_table": weight("float32[distances, head_dim]", draw.normal(std=0.1)),
        "side": scalar("int32", "side"),
    },
    outputs={"scores": "float32[batch_heads, tokens, tokens]"},
    workloads=rows(
        "batch_heads side",
        (16, 14), (100, 14), (400, 14), (800, 14), (1600, 14), (3200, 14), (16, 16), (64, 16),
        (16, 32), (32, 32), (16, 24), (48, 20), (8, 64), (16, 64), (1, 64), (12, 40),
    ),
    smoke=rows("batch_heads side head_dim", (3, 4, 16), (2, 7, 80)),
)  # fmt: skip

import torch


def run(query, key, row_table, column_table, side):
    heads, tokens, head_dim = query.shape
    place = torch.arange(side, device=query.device)
    distance = place[:, None] - place[None, :] + side - 1  # [query, key]
    grid = query.view(heads, side, side, head_dim)
    by_row = torch.einsum("brcd,rkd->brck", grid, row_table[distance])
    by_column = torch.einsum("brcd,ckd->brck", grid, column_table[distance])
    bias = (
        by_row[..., :, None] + by_column[..., None, :]
    )  # [heads, row, column, key row, key column]
    scores = query @ key.transpose(1, 2) * head_dim**-0.5
    return scores + bias.reshape(heads, tokens, tokens)
