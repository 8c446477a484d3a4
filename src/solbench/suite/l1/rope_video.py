"""Rotary embedding of a video generator on its latent grid: frames, rows and columns as separate axes.

Queries keep their grid shape; each axis turns its own channels (44 of 128 for frames, 42 each for rows and
columns), so that no table over all tokens is needed.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="rope_video_fp32_h40_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "Wan-AI/Wan2.2-T2V-A14B",
            "dim 5120, num_heads 40: head_dim 128 = 44 + 42 + 42",
            "video", read="Wan2.2: wan/configs/wan_t2v_A14B.py",
        ),
    ),
    axes={"frames": var, "height": var, "width": var, "num_heads": 40, "head_dim": 128},
    inputs={
        "query": activation("float32[frames, height, width, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "first_frame": scalar("int32", 3),
    },
    outputs={"query_out": "float32[frames, height, width, num_heads, head_dim]"},
    workloads=rows(
        "frames height width",
        (1, 30, 52), (1, 45, 80), (3, 30, 52), (5, 20, 20), (5, 30, 52), (7, 45, 80),
        (9, 30, 30), (11, 30, 52), (13, 33, 41), (13, 45, 80), (16, 30, 52), (21, 16, 16),
        (21, 30, 52), (21, 45, 80), (31, 30, 52), (41, 23, 40),
    ),
    smoke=rows("frames height width num_heads", (2, 3, 4, 2), (3, 5, 2, 4)),
)  # fmt: skip

import torch


def run(query, first_frame):
    frames, height, width, _, head_dim = query.shape
    side = 2 * (head_dim // 6)
    parts = query.split([head_dim - 2 * side, side, side], dim=-1)
    start = torch.arange(frames, device=query.device) + first_frame
    rows, columns = (torch.arange(size, device=query.device) for size in (height, width))
    turned = [
        rotate(parts[0], start[:, None, None]),
        rotate(parts[1], rows[None, :, None]),
        rotate(parts[2], columns[None, None, :]),
    ]
    return torch.cat(turned, dim=-1)


def rotate(values, position):
    """Neighbouring channels are a pair; position has one entry for each of the three grid axes."""
    pairs = values.shape[-1] // 2
    exponent = torch.arange(pairs, device=values.device).to(torch.float32) / pairs
    angle = position.to(torch.float32)[..., None, None] * 10000.0**-exponent
    cos, sin = angle.cos(), angle.sin()
    even, odd = values[..., 0::2], values[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)
