"""Windowed attention block of an image encoder with decomposed relative positions, in float32.

The image is padded and cut into windows of 14 × 14 tokens. The bias of a pair of tokens is the query's
product with a learnt vector for their distance in rows, plus one for their distance in columns. Padding is
cut off again.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="vision_window_decomposed_fp32_h1280_w14",
    tier="L2",
    family="vision_block",
    models=(
        Model(
            "facebook/sam-vit-huge",
            "vision_config: hidden_size 1280, num_attention_heads 16, window_size 14, use_rel_pos",
            "vision",
        ),
    ),
    axes={
        "images": var, "height": var, "width": var, "window": 14, "heads": 16, "head_dim": 80,
        "hidden": "heads * head_dim", "three": "3 * hidden", "distances": "2 * window - 1",
    },
    inputs={
        "x": activation("float32[images, height, width, hidden]", draw.normal()),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "qkv_weight": weight("float32[three, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("float32[three]", draw.normal(std=0.2)),
        "row_table": weight("float32[distances, head_dim]", draw.normal(std=0.1)),
        "column_table": weight("float32[distances, head_dim]", draw.normal(std=0.1)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "float32[images, height, width, hidden]"},
    workloads=rows(
        "images height width",
        (1, 14, 14), (1, 28, 28), (1, 32, 32), (1, 40, 64), (1, 48, 64), (1, 64, 64), (1, 56, 56), (2, 32, 32),
        (2, 37, 51), (2, 64, 64), (3, 64, 64), (4, 28, 28), (4, 64, 64), (8, 32, 32), (8, 64, 64), (16, 64, 64),
    ),
    smoke=rows(
        "images height width window heads head_dim", (2, 6, 5, 4, 3, 16), (1, 10, 7, 5, 2, 32)
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, gain, shift, qkv_weight, qkv_bias, row_table, column_table, output_weight, output_bias, heads
):
    window = (row_table.shape[0] + 1) // 2
    windows, padded = cut(functional.layer_norm(x, x.shape[-1:], gain, shift, eps=1e-6), window)
    projected = (windows @ qkv_weight.T + qkv_bias).unflatten(-1, (3, heads, -1))
    query, key, value = projected.permute(2, 0, 3, 1, 4)  # each [windows, heads, tokens, head_dim]
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    side = torch.arange(window, device=x.device)
    distance = side[:, None] - side[None, :] + window - 1  # [from, to]
    square = query.unflatten(2, (window, window))
    by_row = torch.einsum("nhrcd,rkd->nhrck", square, row_table[distance])
    by_column = torch.einsum("nhrcd,ckd->nhrck", square, column_table[distance])
    bias = by_row[..., :, None] + by_column[..., None, :]
    weights = torch.softmax(logits + bias.flatten(4).flatten(2, 3), dim=-1)
    attended = (weights @ value).transpose(1, 2).flatten(2)
    result = joined(attended @ output_weight.T + output_bias, window, padded)
    return x + result[:, : x.shape[1], : x.shape[2]]


def cut(image, window):
    """Windows [count, window * window, channels], and the padded rows and columns in windows."""
    _, height, width, _ = image.shape
    padding = (0, 0, 0, -width % window, 0, -height % window)
    image = functional.pad(image, padding)
    down, across = image.shape[1] // window, image.shape[2] // window
    parts = image.unflatten(2, (across, window)).unflatten(1, (down, window)).transpose(2, 3)
    return parts.flatten(3, 4).flatten(0, 2), (down, across)


def joined(windows, window, padded):
    parts = windows.unflatten(1, (window, window)).unflatten(0, (-1, *padded))
    return parts.transpose(2, 3).flatten(3, 4).flatten(1, 2)
