"""Differential attention in float32: each head subtracts a second softmax map, weighed by a learnt lambda.

Query heads come in two halves, the maps and what is taken from them. A pair shares a value of twice the head's
width; what is left is normalised without a gain. Lambda follows from four learnt vectors and the layer's depth.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="half_dim", base=500000.0, latest=1)
PROBLEM = Problem(
    name="attention_block_differential_fp32_h2048",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "kajuma/DiffLlama-0.3B-handcut",
            "hidden_size 2048, 32 heads, 8 key-value heads, head_dim 64, rope_theta 500000 with "
            "Llama 3's rope_scaling, float32",
            read="the model's own config.json at commit ff8880f",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 2048, "num_heads": 32, "num_kv_heads": 8, "head_dim": 64,
        "half_dim": "head_dim // 2", "query_width": "num_heads * head_dim",
        "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[seq_len, half_dim]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_dim]", ROPE["sin"]),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "qkv_weight": weight("float32[qkv_width, hidden]", draw.weight_matrix()),
        "lambda_query": weight("float32[2, head_dim]", draw.normal(std=0.2)),
        "lambda_key": weight("float32[2, head_dim]", draw.normal(std=0.2)),
        "output_weight": weight("float32[hidden, query_width]", draw.weight_matrix()),
        "lambda_start": scalar("float32", 0.56),
    },
    outputs={"y": "float32[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 256), (1, 500), (1, 1024), (1, 2048), (1, 3000), (1, 4096), (1, 8192),
        (2, 333), (2, 1024), (2, 4096), (4, 512), (4, 2048), (8, 256), (8, 1024), (16, 512),
    ),
    smoke=rows(
        "batch seq_len hidden num_heads num_kv_heads head_dim", (2, 9, 64, 8, 4, 16), (1, 30, 96, 4, 2, 32)
    ),
)  # fmt: skip

import torch


def run(x, cos, sin, gain, qkv_weight, lambda_query, lambda_key, output_weight, lambda_start):
    head_dim = lambda_query.shape[-1]
    num_heads = output_weight.shape[1] // head_dim
    num_kv_heads = (qkv_weight.shape[0] // head_dim - num_heads) // 2
    heads = (rmsnorm(x) * gain @ qkv_weight.T).unflatten(-1, (-1, head_dim)).transpose(1, 2)
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    grouped = rotate(query, cos, sin).unflatten(1, (num_kv_heads, -1))
    logits = grouped @ rotate(key, cos, sin)[:, :, None].transpose(-1, -2) * head_dim**-0.5
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1).flatten(1, 2)
    # Value heads i and i + half, side by side, belong to a pair of maps.
    wide = torch.cat(value.chunk(2, dim=1), dim=-1)
    wide = wide.repeat_interleave(num_heads // num_kv_heads, dim=1)
    kept, taken = (each @ wide for each in weights.chunk(2, dim=1))
    first, second = torch.exp((lambda_query * lambda_key).sum(dim=-1))
    difference = rmsnorm(kept - (first - second + lambda_start) * taken) * (1.0 - lambda_start)
    return x + difference.transpose(1, 2).flatten(2) @ output_weight.T


def rmsnorm(values):
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-5)


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
