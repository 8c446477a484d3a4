"""Three-axis rotary embedding of an image generator: 16, 56 and 56 channels of a head for three coordinates.

Coordinates are an index, a row and a column; pairs are neighbours. Angles of queries and keys are computed from
the coordinates, the same for all images of the batch.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="rope_three_axes_bf16_h24_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "black-forest-labs/FLUX.1-dev",
            "24 heads, axes_dims_rope 16, 56, 56",
            "diffusion", read="black-forest-labs/flux: src/flux/util.py",
        ),
        Model(
            "black-forest-labs/FLUX.1-Kontext-dev",
            "24 heads, axes_dims_rope 16, 56, 56",
            "diffusion", read="its base model: black-forest-labs/flux: src/flux/util.py",
        ),
        Model(
            "black-forest-labs/FLUX.1-Krea-dev",
            "24 heads, axes_dims_rope 16, 56, 56",
            "diffusion", read="its base model: black-forest-labs/flux: src/flux/util.py",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 24, "head_dim": 128},
    inputs={
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND),
        "coordinates": activation("float32[seq_len, 3]", draw.uniform(high=128.0)),
    },
    outputs={
        "query_out": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "key_out": "bfloat16[batch, num_heads, seq_len, head_dim]",
    },
    workloads=rows(
        "batch seq_len",
        (1, 512), (1, 1536), (1, 2560), (1, 4608), (1, 8704), (2, 1024), (2, 1536), (2, 4608),
        (3, 3333), (4, 768), (4, 4608), (6, 1000), (8, 1536), (8, 4608), (16, 1536), (16, 2048),
    ),
    smoke=rows("batch seq_len num_heads", (2, 9, 2), (1, 50, 4)),
)  # fmt: skip

import torch

WIDTHS = (16, 56, 56)


def run(query, key, coordinates):
    angles = []
    for axis, width in enumerate(WIDTHS):
        exponent = torch.arange(0, width, 2, device=query.device).to(torch.float32) / width
        angles.append(coordinates[:, axis, None] * 10000.0**-exponent)
    angle = torch.cat(angles, dim=-1)  # [seq_len, 64]
    return rotate(query, angle.cos(), angle.sin()), rotate(key, angle.cos(), angle.sin())


def rotate(values, cos, sin):
    even, odd = values[..., 0::2].to(torch.float32), values[..., 1::2].to(torch.float32)
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.flatten(-2).to(values.dtype)
