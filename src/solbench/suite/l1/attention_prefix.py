"""Prefix attention: image and prompt see each other both ways, the answer is causal.

Each sequence of the batch has its own prefix length.
"""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
)

PREFIX = draw.ragged_lengths(sequences="batch", total="prefix_total", spread=0.2)
PROBLEM = Problem(
    name="attention_prefix_bf16_h8_kv4_d256",
    tier="L1",
    family="attention",
    models=(
        Model(
            "google/paligemma2-3b-pt-224",
            "text_config: num_attention_heads 8, num_key_value_heads 4, head_dim 256; 256 "
            "image tokens",
            "multimodal",
            read="its text model, Gemma 2 2B: huggingface/transformers: configuration_gemma2.py",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "prefix_total": var,
        "num_heads": 8, "num_kv_heads": 4, "head_dim": 256,
    },
    inputs={
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND),
        "prefix": activation("int32[batch]", PREFIX["lengths"]),
    },
    outputs={"output": "bfloat16[batch, num_heads, seq_len, head_dim]"},
    workloads=rows(
        "batch seq_len prefix_total",
        (1, 300, 270), (1, 512, 270), (1, 1100, 1040), (1, 2048, 1050), (1, 4300, 4100), (2, 400, 550),
        (2, 1200, 2080), (4, 333, 1100), (4, 600, 1100), (4, 1300, 4200), (8, 320, 2200), (8, 512, 2200),
        (8, 1152, 8400), (16, 300, 4300), (16, 512, 4300), (32, 288, 8700),
    ),
    smoke=rows(
        "batch seq_len prefix_total num_heads num_kv_heads head_dim",
        (3, 20, 24, 2, 1, 32), (2, 40, 40, 4, 2, 64),
    ),
)  # fmt: skip

import torch


def run(query, key, value, prefix):
    batch, _, seq_len, head_dim = query.shape
    grouped = query.to(torch.float32).view(batch, key.shape[1], -1, seq_len, head_dim)
    keys, values = key.to(torch.float32)[:, :, None], value.to(torch.float32)[:, :, None]
    logits = grouped @ keys.transpose(-1, -2) * head_dim**-0.5
    place = torch.arange(seq_len, device=query.device)
    seen = (place[None, :] <= place[:, None]) | (
        place < prefix[:, None, None]
    )  # [batch, query, key]
    weights = torch.softmax(logits.masked_fill(~seen[:, None, None], float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ values).view(query.shape).to(query.dtype)
