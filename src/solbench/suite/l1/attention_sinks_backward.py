"""Backward of sliding-window attention with a learnt sink per head, which has a gradient of its own.

The sink took a share of each row's weight and gave no value. Starts from the output and the log-sum-exp, the
sink within.
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
    scalar,
    var,
    weight,
)

SAVED = computed("attend", "query", "key", "value", "sinks", "window")
PROBLEM = Problem(
    name="attention_sinks_backward_bf16_h64_kv8_d64_w128",
    tier="L1",
    family="attention",
    direction="backward",
    models=(
        Model(
            "openai/gpt-oss-120b",
            "num_attention_heads 64, num_key_value_heads 8, head_dim 64, sliding_window 128",
            read="huggingface/transformers: configuration_gpt_oss.py",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "window": 128, "num_heads": 64, "num_kv_heads": 8, "head_dim": 64,
    },
    inputs={
        "grad_output": activation(
            "bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(std=0.1), EVERY_KIND
        ),
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal()),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "sinks": weight("bfloat16[num_heads]", draw.normal(mean=1.0)),
        "window": scalar("int32", "window"),
        "output": activation("bfloat16[batch, num_heads, seq_len, head_dim]", SAVED[0]),
        "lse": activation("float32[batch, num_heads, seq_len]", SAVED[1]),
    },
    outputs={
        "grad_query": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "grad_key": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
        "grad_value": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
        "grad_sinks": "bfloat16[num_heads]",
    },
    gradient=Gradient(
        "attend", ("query", "key", "value", "sinks", "window"), ("grad_output",),
        ("query", "key", "value", "sinks"),
    ),
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 256), (1, 500), (1, 512), (1, 1024), (1, 2048), (2, 200), (2, 512),
        (2, 1024), (4, 256), (4, 512), (4, 1000), (8, 256), (8, 333), (16, 128), (32, 128),
    ),
    smoke=rows("batch seq_len window num_heads num_kv_heads", (2, 20, 6, 4, 2), (1, 50, 16, 8, 1)),
)  # fmt: skip

import torch


def attend(query, key, value, sinks, window):
    logits = windowed_logits(query, key, window)
    sink = sinks.to(torch.float32).view(1, key.shape[1], -1, 1)
    lse = torch.logaddexp(torch.logsumexp(logits, dim=-1), sink)
    output = torch.exp(logits - lse[..., None]) @ value.to(torch.float32)[:, :, None]
    return output.view(query.shape).to(query.dtype), lse.view(query.shape[:-1])


def windowed_logits(query, key, window):
    """[batch, key head, group, query, key]"""
    logits = grouped(query, key) @ key.to(torch.float32)[:, :, None].transpose(-1, -2)
    place = torch.arange(query.shape[-2], device=query.device)
    distance = place[:, None] - place[None, :]
    hidden = (distance < 0) | (distance >= window)
    return (logits * query.shape[-1] ** -0.5).masked_fill(hidden, float("-inf"))


def grouped(values, key):
    return values.to(torch.float32).unflatten(1, (key.shape[1], -1))


def run(grad_output, query, key, value, sinks, window, output, lse):
    totals = grouped(lse, key)
    weights = torch.exp(windowed_logits(query, key, window) - totals[..., None])
    rounded = weights.to(query.dtype).to(torch.float32)  # as a kernel's products take them
    upstream = grouped(grad_output, key)
    grad_value = (rounded.transpose(-1, -2) @ upstream).sum(dim=2)
    along = (upstream * grouped(output, key)).sum(dim=-1, keepdim=True)
    grad_weights = upstream @ value.to(torch.float32)[:, :, None].transpose(-1, -2)
    grad_logits = weights * (grad_weights - along) * query.shape[-1] ** -0.5
    grad_logits = grad_logits.to(query.dtype).to(torch.float32)
    grad_query = (grad_logits @ key.to(torch.float32)[:, :, None]).view(query.shape)
    grad_key = (grad_logits.transpose(-1, -2) @ grouped(query, key)).sum(dim=2)
    sink_weights = torch.exp(sinks.to(torch.float32).view(1, key.shape[1], -1, 1) - totals)
    grad_sinks = -(sink_weights * along.squeeze(-1)).sum(dim=(0, 3)).flatten()
    return (
        grad_query.to(query.dtype),
        grad_key.to(key.dtype),
        grad_value.to(value.dtype),
        grad_sinks.to(sinks.dtype),
    )
