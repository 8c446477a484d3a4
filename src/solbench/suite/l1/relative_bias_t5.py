"""T5's relative position bias added to attention scores, then softmax: text encoder of image generators.

The distance between query and key chooses one of 32 buckets: 16 for each direction, exact below 8, then on a
logarithmic scale up to 128. T5 does not scale its scores.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="relative_bias_t5_fp32_h64",
    tier="L1",
    family="positional",
    models=(
        Model(
            "google/t5-v1_1-xxl",
            "num_heads 64, relative_attention_num_buckets 32, relative_attention_max_distance 128",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 64, "buckets": 32},
    inputs={
        "scores": activation("float32[batch, num_heads, seq_len, seq_len]", draw.normal(std=2.0)),
        "table": weight("float32[buckets, num_heads]", draw.normal(std=2.0)),
    },
    outputs={"weights": "float32[batch, num_heads, seq_len, seq_len]"},
    workloads=rows(
        "batch seq_len",
        (1, 16), (1, 77), (1, 128), (1, 256), (1, 333), (1, 512), (2, 64), (2, 154),
        (2, 512), (4, 128), (4, 300), (4, 512), (8, 77), (8, 256), (8, 512), (16, 128),
    ),
    smoke=rows("batch seq_len num_heads", (2, 20, 4), (1, 150, 2)),
)  # fmt: skip

import math

import torch


def run(scores, table):
    place = torch.arange(scores.shape[-1], device=scores.device)
    bias = table[bucket(place[None, :] - place[:, None])]  # [query, key, head]
    return torch.softmax(scores + bias.permute(2, 0, 1), dim=-1)


def bucket(distance):
    """Keys after the query use buckets 16 to 31."""
    size = distance.abs()
    logarithmic = 8 + (torch.log(size.clamp_min(1).to(torch.float32) / 8) / math.log(16) * 8).long()
    near = torch.where(size < 8, size, logarithmic.clamp_max(15))
    return near + 16 * (distance > 0).long()
