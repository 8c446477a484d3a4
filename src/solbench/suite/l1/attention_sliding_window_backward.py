"""Backward of sliding-window attention with as many key heads as query heads, from output and log-sum-exp."""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    scalar,
    var,
)

SAVED = computed("attend", "query", "key", "value", "window")
PROBLEM = Problem(
    name="attention_sliding_window_backward_bf16_h32_d128_w4096",
    tier="L1",
    family="attention",
    direction="backward",
    models=(
        Model(
            "allenai/Olmo-3-7B-Instruct",
            "num_attention_heads 32, hidden_size 4096, sliding_window 4096",
            read="huggingface/transformers: configuration_olmo3.py",
        ),
    ),
    axes={"batch": var, "seq_len": var, "window": 4096, "num_heads": 32, "head_dim": 128},
    inputs={
        "grad_output": activation(
            "bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(std=0.1), EVERY_KIND
        ),
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal()),
        "key": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal()),
        "value": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal()),
        "window": scalar("int32", "window"),
        "output": activation("bfloat16[batch, num_heads, seq_len, head_dim]", SAVED[0]),
        "lse": activation("float32[batch, num_heads, seq_len]", SAVED[1]),
    },
    outputs={
        "grad_query": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "grad_key": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "grad_value": "bfloat16[batch, num_heads, seq_len, head_dim]",
    },
    gradient=Gradient(
        "attend", ("query", "key", "value", "window"), ("grad_output",), ("query", "key", "value")
    ),
    workloads=rows(
        "batch seq_len window",
        (1, 512, 128), (1, 1024, 128), (1, 1024, 512), (1, 2048, 512), (1, 3000, 1024), (1, 4096, 1024),
        (1, 4096, 2048), (1, 5000, 4096), (1, 6144, 4096), (2, 777, 256), (2, 1024, 512), (2, 2048, 1024),
        (4, 512, 128), (4, 1500, 512), (8, 512, 256), (8, 1024, 128),
    ),
    smoke=rows("batch seq_len window num_heads", (1, 16, 5, 2), (1, 40, 12, 3)),
)  # fmt: skip

import torch


def attend(query, key, value, window):
    logits = masked_logits(query, key, window)
    lse = torch.logsumexp(logits, dim=-1)
    output = torch.exp(logits - lse[..., None]) @ value.to(torch.float32)
    return output.to(query.dtype), lse


def masked_logits(query, key, window):
    logits = query.to(torch.float32) @ key.to(torch.float32).transpose(-1, -2)
    place = torch.arange(query.shape[-2], device=query.device)
    distance = place[:, None] - place[None, :]
    hidden = (distance < 0) | (distance >= window)
    return (logits * query.shape[-1] ** -0.5).masked_fill(hidden, float("-inf"))


def run(grad_output, query, key, value, window, output, lse):
    weights = torch.exp(masked_logits(query, key, window) - lse[..., None])
    rounded = weights.to(query.dtype).to(torch.float32)  # as a kernel's products take them
    upstream = grad_output.to(torch.float32)
    grad_value = rounded.transpose(-1, -2) @ upstream
    along = (upstream * output.to(torch.float32)).sum(dim=-1, keepdim=True)
    grad_weights = upstream @ value.to(torch.float32).transpose(-1, -2)
    grad_logits = weights * (grad_weights - along) * query.shape[-1] ** -0.5
    grad_logits = grad_logits.to(query.dtype).to(torch.float32)
    grad_query = grad_logits @ key.to(torch.float32)
    grad_key = grad_logits.transpose(-1, -2) @ query.to(torch.float32)
    return grad_query.to(query.dtype), grad_key.to(key.dtype), grad_value.to(value.dtype)
