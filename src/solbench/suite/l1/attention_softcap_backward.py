"""Backward of causal attention whose logits are capped at ± 50 by a hyperbolic tangent before the softmax.

Starts from the output and its log-sum-exp; the cap's slope is one minus the square of the tangent.
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
)

SAVED = computed("attend", "query", "key", "value", "cap")
PROBLEM = Problem(
    name="attention_softcap_backward_bf16_h16_kv8_d256",
    tier="L1",
    family="attention",
    direction="backward",
    models=(
        Model(
            "google/gemma-2-9b",
            "num_attention_heads 16, num_key_value_heads 8, head_dim 256, "
            "attn_logit_softcapping 50, query_pre_attn_scalar 256",
            read="google/gemma_pytorch: gemma/config.py",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 16, "num_kv_heads": 8, "head_dim": 256},
    inputs={
        "grad_output": activation(
            "bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(std=0.1), EVERY_KIND
        ),
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(std=4.0)),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(std=4.0)),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "cap": scalar("float32", 50.0),
        "output": activation("bfloat16[batch, num_heads, seq_len, head_dim]", SAVED[0]),
        "lse": activation("float32[batch, num_heads, seq_len]", SAVED[1]),
    },
    outputs={
        "grad_query": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "grad_key": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
        "grad_value": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
    },
    gradient=Gradient(
        "attend", ("query", "key", "value", "cap"), ("grad_output",), ("query", "key", "value")
    ),
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 450), (1, 512), (1, 1024), (1, 2048), (1, 4096), (2, 256), (2, 1000),
        (2, 2048), (4, 512), (4, 1024), (8, 333), (8, 512), (16, 256), (32, 128), (64, 128),
    ),
    smoke=rows("batch seq_len num_heads num_kv_heads head_dim", (2, 20, 4, 2, 64), (1, 50, 2, 1, 32)),
)  # fmt: skip

import torch


def attend(query, key, value, cap):
    logits = masked(cap * tangent(query, key, cap))
    lse = torch.logsumexp(logits, dim=-1)
    output = torch.exp(logits - lse[..., None]) @ value.to(torch.float32)[:, :, None]
    return output.view(query.shape).to(query.dtype), lse.view(query.shape[:-1])


def tangent(query, key, cap):
    """Of the scaled logits over the cap: [batch, key head, group, query, key]."""
    keys = key.to(torch.float32)[:, :, None]
    return torch.tanh(grouped(query, key) @ keys.transpose(-1, -2) * query.shape[-1] ** -0.5 / cap)


def grouped(values, key):
    return values.to(torch.float32).unflatten(1, (key.shape[1], -1))


def masked(logits):
    later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).triu(1)
    return logits.masked_fill(later, float("-inf"))


def run(grad_output, query, key, value, cap, output, lse):
    slope = tangent(query, key, cap)
    weights = torch.exp(masked(cap * slope) - grouped(lse, key)[..., None])
    rounded = weights.to(query.dtype).to(torch.float32)  # as a kernel's products take them
    upstream = grouped(grad_output, key)
    grad_value = (rounded.transpose(-1, -2) @ upstream).sum(dim=2)
    along = (upstream * grouped(output, key)).sum(dim=-1, keepdim=True)
    grad_weights = upstream @ value.to(torch.float32)[:, :, None].transpose(-1, -2)
    grad_logits = weights * (grad_weights - along) * (1.0 - slope * slope) * query.shape[-1] ** -0.5
    grad_logits = grad_logits.to(query.dtype).to(torch.float32)
    grad_query = (grad_logits @ key.to(torch.float32)[:, :, None]).view(query.shape)
    grad_key = (grad_logits.transpose(-1, -2) @ grouped(query, key)).sum(dim=2)
    return grad_query.to(query.dtype), grad_key.to(key.dtype), grad_value.to(value.dtype)
