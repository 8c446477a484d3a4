"""Attention pooling of image features: each 2 × 2 window asks its four patches with their mean as query.

A patch brings the features of two encoder layers side by side, twice the width of attention. Windows at an odd
border are padded with zeros, which are masked.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="attention_pooling_fp32_h16_d64",
    tier="L1",
    family="attention",
    models=(
        Model(
            "allenai/Molmo-7B-D-0924",
            "image_pooling_2d attention-meanq, image_pooling_h 2, image_pooling_w 2, image_emb_dim 1024 of two "
            "vit_layers, 16 heads of 64",
            "multimodal",
            read="Blaizzy/mlx-vlm: molmo/vision.py, its defaults (d_model 3584: the 7B-D)",
        ),
    ),
    axes={
        "images": var, "rows": var, "columns": var, "channels": 2048, "hidden": 1024, "heads": 16,
        "half_rows": "(rows + 1) // 2", "half_columns": "(columns + 1) // 2",
    },
    inputs={
        "patches": activation(
            "float32[images, rows, columns, channels]", draw.normal(mean=0.2), ("sign", "outliers", "sparsity")
        ),
        "query_weight": weight("float32[hidden, channels]", draw.weight_matrix()),
        "key_weight": weight("float32[hidden, channels]", draw.weight_matrix()),
        "value_weight": weight("float32[hidden, channels]", draw.weight_matrix()),
        "heads": scalar("int32", "heads"),
    },
    outputs={"pooled": "float32[images, half_rows, half_columns, hidden]"},
    workloads=rows(
        "images rows columns",
        (1, 24, 24), (1, 23, 17), (2, 24, 24), (3, 24, 24), (5, 24, 24), (5, 21, 24), (7, 24, 24), (8, 16, 16),
        (9, 24, 24), (12, 24, 24), (13, 24, 24), (13, 27, 27), (16, 24, 24), (26, 24, 24), (32, 16, 16),
        (64, 24, 24),
    ),
    smoke=rows("images rows columns channels hidden heads", (2, 4, 3, 64, 32, 2), (1, 5, 7, 256, 128, 4)),
)  # fmt: skip

import torch


def run(patches, query_weight, key_weight, value_weight, heads):
    images, rows, columns, _ = patches.shape
    hidden = query_weight.shape[0]
    padding = (0, 0, 0, columns % 2, 0, rows % 2)
    windows, real = (
        two_by_two(patches, padding),
        two_by_two(torch.ones_like(patches[..., :1]), padding),
    )
    mean = windows.sum(dim=1) / real.sum(dim=1)
    query = (mean @ query_weight.T).view(-1, heads, 1, hidden // heads)
    key = (windows @ key_weight.T).view(-1, 4, heads, hidden // heads).permute(0, 2, 3, 1)
    value = (windows @ value_weight.T).view(-1, 4, heads, hidden // heads).transpose(1, 2)
    logits = query @ key * (hidden // heads) ** -0.5
    hidden_places = real.view(-1, 1, 1, 4) == 0
    weights = torch.softmax(logits.masked_fill(hidden_places, float("-inf")), dim=-1)
    return (weights @ value).reshape(images, -(-rows // 2), -(-columns // 2), hidden)


def two_by_two(grid, padding):
    """[images, rows, columns, channels] → [windows, 4, channels]."""
    padded = torch.nn.functional.pad(grid, padding)
    images, rows, columns, channels = padded.shape
    split = padded.view(images, rows // 2, 2, columns // 2, 2, channels)
    return split.transpose(2, 3).reshape(-1, 4, channels)
