"""Causal attention whose logits are capped at ± 50 by a hyperbolic tangent before the softmax."""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="attention_softcap_bf16_h16_kv8_d256",
    tier="L1",
    family="attention",
    models=(
        Model(
            "google/gemma-2-9b",
            "num_attention_heads 16, num_key_value_heads 8, head_dim 256, attn_logit_softcapping 50, "
            "query_pre_attn_scalar 256",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 16, "num_kv_heads": 8, "head_dim": 256},
    inputs={
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(std=4.0)),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(std=4.0)),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "cap": scalar("float32", 50.0),
    },
    outputs={"output": "bfloat16[batch, num_heads, seq_len, head_dim]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 450), (1, 1024), (1, 2048), (1, 4096), (1, 8192), (2, 256), (2, 1000),
        (2, 4096), (4, 512), (4, 2048), (8, 333), (8, 1024), (16, 512), (32, 256), (64, 128),
    ),
    smoke=rows("batch seq_len num_heads num_kv_heads", (2, 20, 4, 2), (1, 50, 2, 1)),
)  # fmt: skip

import torch


def run(query, key, value, cap):
    batch, _, seq_len, head_dim = query.shape
    grouped = query.to(torch.float32).view(batch, key.shape[1], -1, seq_len, head_dim)
    keys, values = key.to(torch.float32)[:, :, None], value.to(torch.float32)[:, :, None]
    logits = cap * torch.tanh(grouped @ keys.transpose(-1, -2) * head_dim**-0.5 / cap)
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ values).view(query.shape).to(query.dtype)
