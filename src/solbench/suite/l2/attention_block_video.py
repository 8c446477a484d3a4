"""Self-attention block of a video generator in float32: modulation, wide norms, rotation by three axes, gate.

A token is a patch of a latent frame. The first 22 pairs of channels turn with the frame, the next 21 with the
row, the last 21 with the column. Query and key norms cover the whole width before it is split into heads.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

FRAME = draw.rope_table(tokens="frames", pairs="frame_pairs", latest=1, label="frame")
ROW = draw.rope_table(tokens="height", pairs="side_pairs", latest=1, label="row")
COLUMN = draw.rope_table(tokens="width", pairs="side_pairs", latest=1, label="column")
PROBLEM = Problem(
    name="attention_block_video_fp32_h5120",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "Wan-AI/Wan2.2-T2V-A14B",
            "dim 5120, num_heads 40, qk_norm, patch_size 1, 2, 2",
            "video", read="Wan2.2: wan/configs/wan_t2v_A14B.py",
        ),
    ),
    axes={
        "batch": var, "frames": var, "height": var, "width": var, "heads": 40, "hidden": 5120,
        "frame_pairs": 22, "side_pairs": 21, "tokens": "frames * height * width", "three": "3 * hidden",
    },
    inputs={
        "x": activation("float32[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "modulation": activation("float32[batch, 3, hidden]", draw.normal(std=0.5)),
        "frame_cos": activation("float32[frames, frame_pairs]", FRAME["cos"]),
        "frame_sin": activation("float32[frames, frame_pairs]", FRAME["sin"]),
        "row_cos": activation("float32[height, side_pairs]", ROW["cos"]),
        "row_sin": activation("float32[height, side_pairs]", ROW["sin"]),
        "column_cos": activation("float32[width, side_pairs]", COLUMN["cos"]),
        "column_sin": activation("float32[width, side_pairs]", COLUMN["sin"]),
        "qkv_weight": weight("float32[three, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("float32[three]", draw.normal(std=0.2)),
        "query_gain": weight("float32[hidden]", draw.norm_weight()),
        "key_gain": weight("float32[hidden]", draw.norm_weight()),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "float32[batch, tokens, hidden]"},
    workloads=rows(
        "batch frames height width",
        (1, 1, 16, 16), (1, 1, 30, 52), (1, 1, 45, 80), (1, 3, 30, 52), (1, 5, 15, 26), (1, 5, 30, 52),
        (1, 9, 15, 26), (1, 13, 17, 23), (1, 21, 15, 26), (2, 1, 30, 52), (2, 3, 15, 26), (2, 5, 15, 26),
        (2, 3, 30, 52), (3, 2, 16, 16), (4, 1, 30, 52), (8, 1, 15, 26),
    ),
    smoke=rows(
        "batch frames height width heads hidden frame_pairs side_pairs",
        (2, 2, 3, 2, 3, 96, 6, 5), (1, 3, 3, 4, 2, 128, 12, 10),
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, modulation, frame_cos, frame_sin, row_cos, row_sin, column_cos, column_sin,
    qkv_weight, qkv_bias, query_gain, key_gain, output_weight, output_bias, heads,
):  # fmt: skip
    shift, scale, opening = modulation[:, :, None].unbind(dim=1)
    normalised = functional.layer_norm(x, (x.shape[-1],), eps=1e-6) * (1.0 + scale) + shift
    query, key, value = (normalised @ qkv_weight.T + qkv_bias).chunk(3, dim=-1)
    query, key = rmsnorm(query, query_gain), rmsnorm(key, key_gain)
    query, key, value = (
        each.unflatten(-1, (heads, -1)).transpose(1, 2) for each in (query, key, value)
    )
    cos, sin = grid(frame_cos, row_cos, column_cos), grid(frame_sin, row_sin, column_sin)
    query, key = rotate(query, cos, sin), rotate(key, cos, sin)
    weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, dim=-1)
    attended = (weights @ value).transpose(1, 2).flatten(2)
    return x + opening * (attended @ output_weight.T + output_bias)


def grid(frame, row, column):
    """One row a token: its frame's pairs, then its row's, then its column's."""
    frames, height, width = frame.shape[0], row.shape[0], column.shape[0]
    parts = (
        frame[:, None, None].expand(-1, height, width, -1),
        row[None, :, None].expand(frames, -1, width, -1),
        column[None, None].expand(frames, height, -1, -1),
    )
    return torch.cat(parts, dim=-1).flatten(0, 2)


def rmsnorm(values, gain):
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * gain


def rotate(values, cos, sin):
    even, odd = values[..., 0::2], values[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)
