"""Sliding-window attention with a learnt sink per head, which takes a share of the weight and gives nothing.

The sink joins the softmax as one more logit without a value. Window of 128, eight query heads a key-value head.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="attention_sinks_bf16_h64_kv8_d64_w128",
    tier="L1",
    family="attention",
    models=(
        Model(
            "openai/gpt-oss-120b",
            "num_attention_heads 64, num_key_value_heads 8, head_dim 64, sliding_window 128",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "window": 128, "num_heads": 64, "num_kv_heads": 8, "head_dim": 64,
    },
    inputs={
        "query": activation("bfloat16[batch, seq_len, num_heads, head_dim]", draw.normal()),
        "key": activation("bfloat16[batch, seq_len, num_kv_heads, head_dim]", draw.normal()),
        "value": activation("bfloat16[batch, seq_len, num_kv_heads, head_dim]", draw.normal()),
        "sinks": weight("bfloat16[num_heads]", draw.normal(mean=1.0)),
        "window": scalar("int32", "window"),
    },
    outputs={"output": "bfloat16[batch, seq_len, num_heads, head_dim]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 256), (1, 500), (1, 1024), (1, 2048), (1, 4096), (2, 200), (2, 1024),
        (2, 2500), (4, 256), (4, 1024), (4, 2048), (8, 333), (8, 1024), (16, 512), (32, 256),
    ),
    smoke=rows("batch seq_len window num_heads num_kv_heads", (2, 20, 6, 4, 2), (1, 50, 16, 8, 1)),
)  # fmt: skip

import torch


def run(query, key, value, sinks, window):
    batch, seq_len, _, head_dim = query.shape
    num_kv_heads = key.shape[2]
    grouped = query.to(torch.float32).view(batch, seq_len, num_kv_heads, -1, head_dim)
    logits = torch.einsum("bqhgd,bkhd->bhgqk", grouped, key.to(torch.float32)) * head_dim**-0.5
    place = torch.arange(seq_len, device=query.device)
    distance = place[:, None] - place[None, :]
    logits = logits.masked_fill((distance < 0) | (distance >= window), float("-inf"))
    sink = sinks.to(torch.float32).view(1, num_kv_heads, -1, 1, 1)
    sink = sink.expand(batch, -1, -1, seq_len, 1)
    weights = torch.softmax(torch.cat([logits, sink], dim=-1), dim=-1)[..., :-1]
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = torch.einsum("bhgqk,bkhd->bqhgd", weights, value.to(torch.float32))
    return output.reshape(query.shape).to(query.dtype)
