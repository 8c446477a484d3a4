"""Backward of sliding-window attention with learnt sinks, through the output projection and its bias.

A sink is one more logit a head that takes part in the softmax and has no value; its gradient is what its weight
held back. The forward kept the attention's output and the log-sum-exp, sink included.
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

SAVED = computed("saved", "query", "key", "value", "sinks", "window")
PROBLEM = Problem(
    name="attention_block_sinks_backward_bf16_h2880_w128",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "openai/gpt-oss-20b",
            "hidden_size 2880, 64 heads, 8 key-value heads, head_dim 64, sliding_window 128, "
            "attention_bias",
            read="EchoCog/gpt-oss-20b: docs/gpt-oss-20b-architecture.md",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "window": 128, "num_heads": 64, "num_kv_heads": 8, "head_dim": 64,
        "hidden": 2880, "width": "num_heads * head_dim",
    },
    inputs={
        "grad_y": activation("bfloat16[batch, seq_len, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal()),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "sinks": weight("bfloat16[num_heads]", draw.normal(mean=2.0)),
        "output_weight": weight("bfloat16[hidden, width]", draw.weight_matrix()),
        "window": scalar("int32", "window"),
        "attended": activation("bfloat16[batch, num_heads, seq_len, head_dim]", SAVED[0]),
        "lse": activation("float32[batch, num_heads, seq_len]", SAVED[1]),
    },
    outputs={
        "grad_query": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "grad_key": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
        "grad_value": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
        "grad_sinks": "bfloat16[num_heads]",
        "grad_output_weight": "bfloat16[hidden, width]",
        "grad_output_bias": "bfloat16[hidden]",
    },
    gradient=Gradient(
        "forward", ("query", "key", "value", "sinks", "output_weight", "output_bias", "window"), ("grad_y",),
        ("query", "key", "value", "sinks", "output_weight", "output_bias"),
    ),
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 256), (1, 512), (1, 777), (1, 1024), (1, 1500), (1, 2048), (1, 4096),
        (2, 128), (2, 512), (2, 1000), (2, 2048), (4, 256), (4, 1024), (8, 256), (8, 512),
    ),
    smoke=rows(
        "batch seq_len window num_heads num_kv_heads head_dim hidden",
        (2, 12, 5, 4, 2, 32, 96), (1, 40, 9, 6, 1, 16, 64),
    ),
)  # fmt: skip

import torch


def saved(query, key, value, sinks, window):
    logits = masked_logits(query, key, window)
    sink = sinks.to(torch.float32).view(key.shape[1], -1, 1, 1).expand(*logits.shape[:-1], 1)
    lse = torch.logsumexp(torch.cat([logits, sink], dim=-1), dim=-1)
    attended = torch.exp(logits - lse[..., None]) @ value.to(torch.float32)[:, :, None]
    return attended.flatten(1, 2).to(query.dtype), lse.flatten(1, 2)


def forward(query, key, value, sinks, output_weight, output_bias, window):
    attended, _ = saved(query, key, value, sinks, window)
    return attended.transpose(1, 2).flatten(2) @ output_weight.T + output_bias


def masked_logits(query, key, window):
    """[batch, kv_heads, group, query, key]; keys later or further back than the window at -inf."""
    grouped = query.to(torch.float32).unflatten(1, (key.shape[1], -1))
    logits = grouped @ key.to(torch.float32)[:, :, None].transpose(-1, -2) * key.shape[-1] ** -0.5
    place = torch.arange(query.shape[-2], device=query.device)
    distance = place[:, None] - place[None, :]
    return logits.masked_fill((distance < 0) | (distance >= window), float("-inf"))


def run(grad_y, query, key, value, sinks, output_weight, window, attended, lse):
    num_kv_heads, head_dim = key.shape[1], key.shape[-1]
    joined = attended.transpose(1, 2).flatten(2)
    grad_output_weight = grad_y.flatten(0, 1).T @ joined.flatten(0, 1)
    grad_output_bias = grad_y.to(torch.float32).sum(dim=(0, 1)).to(grad_y.dtype)
    heads = (grad_y @ output_weight).unflatten(-1, (num_kv_heads, -1, head_dim))
    upstream = heads.movedim(1, 3).to(torch.float32)  # [batch, kv_heads, group, seq_len, head_dim]
    grouped_lse = lse.unflatten(1, (num_kv_heads, -1))
    weights = torch.exp(masked_logits(query, key, window) - grouped_lse[..., None])
    rounded = weights.to(query.dtype).to(torch.float32)  # as a kernel's products take them
    grad_value = (rounded.transpose(-1, -2) @ upstream).sum(dim=2)
    grouped = attended.to(torch.float32).unflatten(1, (num_kv_heads, -1))
    along = (upstream * grouped).sum(dim=-1, keepdim=True)
    sink = torch.exp(sinks.to(torch.float32).view(num_kv_heads, -1, 1) - grouped_lse)
    grad_sinks = -(sink * along[..., 0]).sum(dim=(0, 3)).flatten()
    grad_weights = upstream @ value.to(torch.float32)[:, :, None].transpose(-1, -2)
    grad_logits = weights * (grad_weights - along) * head_dim**-0.5
    grad_logits = grad_logits.to(query.dtype).to(torch.float32)
    grad_query = (grad_logits @ key.to(torch.float32)[:, :, None]).flatten(1, 2)
    queries = query.to(torch.float32).unflatten(1, (num_kv_heads, -1))
    grad_key = (grad_logits.transpose(-1, -2) @ queries).sum(dim=2)
    gradients = (grad_query, grad_key, grad_value, grad_sinks)
    return *(each.to(query.dtype) for each in gradients), grad_output_weight, grad_output_bias
