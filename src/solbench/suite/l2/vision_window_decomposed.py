"""Windowed attention block of an image encoder with decomposed relative positions, in float32.

The image, padded to whole windows, is cut into windows of 14 × 14 tokens. The bias of a pair of tokens is the
query's product with a learnt vector for their distance in rows, plus one for their distance in columns.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="vision_window_decomposed_fp32_h1280_w14",
    tier="L2",
    family="vision_block",
    models=(
        Model(
            "facebook/sam-vit-huge",
            "vision_config: hidden_size 1280, num_attention_heads 16, window_size 14, "
            "use_rel_pos",
            "vision", read="facebookresearch/segment-anything: build_sam.py",
        ),
    ),
    axes={
        "images": var, "height": var, "width": var, "window": 14, "heads": 16, "head_dim": 80,
        "hidden": "heads * head_dim", "three": "3 * hidden", "distances": "2 * window - 1",
    },
    constraints=("height % window == 0", "width % window == 0"),
    inputs={
        "x": activation("float32[images, height, width, hidden]", draw.normal(), EVERY_KIND),
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
        (1, 14, 14), (1, 28, 28), (1, 42, 42), (1, 56, 42), (1, 56, 56), (1, 70, 56), (1, 70, 70), (2, 28, 28),
        (2, 42, 70), (2, 70, 70), (3, 70, 70), (4, 42, 42), (4, 70, 70), (8, 28, 42), (8, 70, 70), (16, 70, 70),
    ),
    smoke=rows(
        "images height width window heads head_dim", (2, 8, 4, 4, 3, 16), (1, 10, 5, 5, 2, 32)
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, gain, shift, qkv_weight, qkv_bias, row_table, column_table, output_weight, output_bias, heads
):
    window = (row_table.shape[0] + 1) // 2
    windows = cut(functional.layer_norm(x, x.shape[-1:], gain, shift, eps=1e-6), window)
    projected = (windows @ qkv_weight.T + qkv_bias).unflatten(-1, (3, heads, -1))
    query, key, value = projected.permute(3, 0, 1, 4, 2, 5)  # each [images, windows, heads, …]
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    side = torch.arange(window, device=x.device)
    distance = side[:, None] - side[None, :] + window - 1  # [from, to]
    square = query.unflatten(3, (window, window))
    by_row = torch.einsum("nwhrcd,rkd->nwhrck", square, row_table[distance])
    by_column = torch.einsum("nwhrcd,ckd->nwhrck", square, column_table[distance])
    bias = by_row[..., :, None] + by_column[..., None, :]
    weights = torch.softmax(logits + bias.flatten(5).flatten(3, 4), dim=-1)
    attended = (weights @ value).transpose(2, 3).flatten(3)
    return x + joined(attended @ output_weight.T + output_bias, x.shape)


def cut(image, window):
    """[images, height, width, channels] to [images, windows, window * window, channels]."""
    parts = image.unflatten(2, (-1, window)).unflatten(1, (-1, window)).transpose(2, 3)
    return parts.flatten(3, 4).flatten(1, 2)


def joined(windows, shape):
    window = int(windows.shape[2] ** 0.5)
    parts = windows.unflatten(2, (window, window)).unflatten(1, (shape[1] // window, -1))
    return parts.transpose(2, 3).reshape(shape)
