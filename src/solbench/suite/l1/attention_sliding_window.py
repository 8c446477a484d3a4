"""Causal attention that sees the last 1024 keys only, with heads of 256 channels, two to a key-value head."""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    scalar,
    var,
)

PROBLEM = Problem(
    name="attention_sliding_window_bf16_h16_kv8_d256_w1024",
    tier="L1",
    family="attention",
    models=(
        Model(
            "google/gemma-3-12b-it",
            "num_attention_heads 16, num_key_value_heads 8, head_dim 256, sliding_window 1024,"
            " query_pre_attn_scalar 256",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "window": 1024, "num_heads": 16, "num_kv_heads": 8, "head_dim": 256,
    },
    inputs={
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND),
        "window": scalar("int32", "window"),
    },
    outputs={"output": "bfloat16[batch, num_heads, seq_len, head_dim]"},
    workloads=rows(
        "batch seq_len",
        (1, 1024), (1, 1500), (1, 2048), (1, 3000), (1, 4096), (1, 8192), (2, 1024), (2, 2048),
        (2, 4096), (2, 5000), (4, 1300), (4, 2048), (4, 4096), (8, 1100), (8, 2048), (16, 1536),
    ),
    smoke=rows(
        "batch seq_len window num_heads num_kv_heads head_dim", (2, 20, 6, 4, 2, 32), (1, 50, 16, 4, 1, 256)
    ),
)  # fmt: skip

import torch


def run(query, key, value, window):
    batch, _, seq_len, head_dim = query.shape
    grouped = query.to(torch.float32).view(batch, key.shape[1], -1, seq_len, head_dim)
    keys, values = key.to(torch.float32)[:, :, None], value.to(torch.float32)[:, :, None]
    logits = grouped @ keys.transpose(-1, -2) * head_dim**-0.5
    place = torch.arange(seq_len, device=query.device)
    distance = place[:, None] - place[None, :]
    hidden = (distance < 0) | (distance >= window)
    weights = torch.softmax(logits.masked_fill(hidden, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ values).view(query.shape).to(query.dtype)
