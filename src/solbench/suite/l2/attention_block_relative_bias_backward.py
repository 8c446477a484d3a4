"""Backward of T5 encoder attention in float32, with the gradient of the table of relative position biases.

Logits are not scaled. Every pair of tokens adds to the gradient of one of 32 entries a head: each distance up
to 7 has its own, longer ones share, and the two directions are told apart.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    var,
    weight,
)

SAVED = computed("saved", "query", "key", "value", "table")
PROBLEM = Problem(
    name="attention_block_relative_bias_backward_fp32_h4096",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "google/t5-v1_1-xxl",
            "d_model 4096, num_heads 64, d_kv 64, relative_attention_num_buckets 32, "
            "max_distance 128",
            read="google-research/t5x: examples/t5/t5_1_1/xxl.gin",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "heads": 64, "head_dim": 64, "hidden": 4096, "buckets": 32,
        "width": "heads * head_dim",
    },
    inputs={
        "grad_y": activation("float32[batch, tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "query": activation("float32[batch, heads, tokens, head_dim]", draw.normal(std=0.35)),
        "key": activation("float32[batch, heads, tokens, head_dim]", draw.normal(std=0.35)),
        "value": activation("float32[batch, heads, tokens, head_dim]", draw.normal()),
        "table": weight("float32[buckets, heads]", draw.normal()),
        "output_weight": weight("float32[hidden, width]", draw.weight_matrix()),
        "attended": activation("float32[batch, heads, tokens, head_dim]", SAVED[0]),
        "lse": activation("float32[batch, heads, tokens]", SAVED[1]),
    },
    outputs={
        "grad_query": "float32[batch, heads, tokens, head_dim]",
        "grad_key": "float32[batch, heads, tokens, head_dim]",
        "grad_value": "float32[batch, heads, tokens, head_dim]",
        "grad_table": "float32[buckets, heads]",
        "grad_output_weight": "float32[hidden, width]",
    },
    gradient=Gradient(
        "forward", ("query", "key", "value", "table", "output_weight"), ("grad_y",),
        ("query", "key", "value", "table", "output_weight"),
    ),
    workloads=rows(
        "batch tokens",
        (1, 77), (1, 128), (1, 256), (1, 300), (1, 512), (1, 1024), (2, 77), (2, 256),
        (2, 512), (3, 333), (4, 120), (4, 256), (4, 512), (8, 77), (8, 256), (16, 128),
    ),
    smoke=rows("batch tokens heads head_dim hidden", (2, 40, 3, 16, 64), (1, 150, 2, 32, 96)),
)  # fmt: skip

import torch

FIRST_OF_SHARED = (12, 16, 23, 32, 46, 64, 91)
"""Where a bucket of longer distances begins: 8 · 16^(i / 8), rounded up."""


def saved(query, key, value, table):
    logits = biased_logits(query, key, table)
    lse = torch.logsumexp(logits, dim=-1)
    return torch.exp(logits - lse[..., None]) @ value, lse


def forward(query, key, value, table, output_weight):
    attended, _ = saved(query, key, value, table)
    return attended.transpose(1, 2).flatten(2) @ output_weight.T


def biased_logits(query, key, table):
    bias = table[buckets(query.shape[-2], query.device)]  # [query, key, heads]
    return query @ key.transpose(-1, -2) + bias.permute(2, 0, 1)


def buckets(tokens, device):
    place = torch.arange(tokens, device=device)
    ahead = place[None, :] - place[:, None]
    distance = ahead.abs()
    first = torch.tensor(FIRST_OF_SHARED, device=device)
    shared = (distance[..., None] >= first).sum(dim=-1)
    return distance.clamp(max=8) + shared + 16 * (ahead > 0)


def run(grad_y, query, key, value, table, output_weight, attended, lse):
    joined = attended.transpose(1, 2).flatten(2)
    grad_output_weight = grad_y.flatten(0, 1).T @ joined.flatten(0, 1)
    upstream = (grad_y @ output_weight).unflatten(-1, (query.shape[1], -1)).transpose(1, 2)
    weights = torch.exp(biased_logits(query, key, table) - lse[..., None])
    grad_value = weights.transpose(-1, -2) @ upstream
    along = (upstream * attended).sum(dim=-1, keepdim=True)
    grad_logits = weights * (upstream @ value.transpose(-1, -2) - along)
    pairs = grad_logits.sum(dim=0).permute(1, 2, 0).flatten(0, 1)  # [query · key, heads]
    number = buckets(query.shape[-2], query.device).flatten()
    grad_table = torch.zeros_like(table).index_add(0, number, pairs)
    grad_query = grad_logits @ key
    grad_key = grad_logits.transpose(-1, -2) @ query
    return grad_query, grad_key, grad_value, grad_table, grad_output_weight
