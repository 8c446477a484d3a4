"""Backward of T5's relative position bias and softmax: gradients of the scores and of the table of biases.

Each pair of places has added one of 32 biases a head, chosen by its distance; their gradients are summed over
all pairs of a bucket and over the batch. The softmax is done again.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="relative_bias_t5_backward_fp32_h64",
    tier="L1",
    family="positional",
    direction="backward",
    models=(
        Model(
            "google/t5-v1_1-xxl",
            "num_heads 64, relative_attention_num_buckets 32, relative_attention_max_distance "
            "128",
            read="google-research/t5x: examples/t5/t5_1_1/xxl.gin",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 64, "buckets": 32},
    inputs={
        "grad_weights": activation("float32[batch, num_heads, seq_len, seq_len]", draw.normal(), EVERY_KIND),
        "scores": activation(
            "float32[batch, num_heads, seq_len, seq_len]", draw.normal(std=2.0), ("sign", "sparsity")
        ),
        "table": weight("float32[buckets, num_heads]", draw.normal(std=2.0)),
    },
    outputs={
        "grad_scores": "float32[batch, num_heads, seq_len, seq_len]",
        "grad_table": "float32[buckets, num_heads]",
    },
    gradient=Gradient("forward", ("scores", "table"), ("grad_weights",), ("scores", "table")),
    workloads=rows(
        "batch seq_len",
        (1, 16), (1, 77), (1, 128), (1, 256), (1, 333), (1, 512), (2, 64), (2, 154),
        (2, 512), (4, 128), (4, 300), (4, 512), (8, 77), (8, 256), (8, 512), (16, 128),
    ),
    smoke=rows("batch seq_len num_heads", (2, 20, 4), (1, 150, 2)),
)  # fmt: skip

import math

import torch


def forward(scores, table):
    bias = table[buckets_of(scores)]  # [query, key, head]
    return torch.softmax(scores + bias.permute(2, 0, 1), dim=-1)


def buckets_of(scores):
    """Keys after the query use buckets 16 to 31; exact below 8, then on a logarithmic scale up to 128."""
    place = torch.arange(scores.shape[-1], device=scores.device)
    distance = place[None, :] - place[:, None]
    size = distance.abs()
    logarithmic = 8 + (torch.log(size.clamp_min(1).to(torch.float32) / 8) / math.log(16) * 8).long()
    near = torch.where(size < 8, size, logarithmic.clamp_max(15))
    return near + 16 * (distance > 0).long()


def run(grad_weights, scores, table):
    weights = forward(scores, table)
    along = (grad_weights * weights).sum(dim=-1, keepdim=True)
    grad_scores = weights * (grad_weights - along)
    pairs = grad_scores.sum(dim=0).flatten(1).T  # [pairs of places, heads]
    grad_table = torch.zeros_like(table).index_add(0, buckets_of(scores).flatten(), pairs)
    return grad_scores, grad_table
