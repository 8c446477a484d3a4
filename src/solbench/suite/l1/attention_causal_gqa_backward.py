"""Backward of causal grouped-query attention, from the output and the log-sum-exp that the forward kept.

Weights are recomputed; a key-value head's gradients are sums over the eight query heads that share it.
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
    var,
)

SAVED = computed("attend", "query", "key", "value")
PROBLEM = Problem(
    name="attention_causal_gqa_backward_bf16_h64_kv8_d128",
    tier="L1",
    family="attention",
    direction="backward",
    models=(
        Model(
            "meta-llama/Llama-3.3-70B-Instruct",
            "num_attention_heads 64, num_key_value_heads 8",
            read="ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 64, "num_kv_heads": 8, "head_dim": 128},
    inputs={
        "grad_output": activation(
            "bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(std=0.1), EVERY_KIND
        ),
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal()),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal()),
        "output": activation("bfloat16[batch, num_heads, seq_len, head_dim]", SAVED[0]),
        "lse": activation("float32[batch, num_heads, seq_len]", SAVED[1]),
    },
    outputs={
        "grad_query": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "grad_key": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
        "grad_value": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
    },
    gradient=Gradient("attend", ("query", "key", "value"), ("grad_output",), ("query", "key", "value")),
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 256), (1, 512), (1, 777), (1, 1024), (1, 1500), (1, 2048), (1, 4096),
        (2, 128), (2, 512), (2, 1000), (2, 2048), (4, 256), (4, 1024), (8, 256), (8, 512),
    ),
    smoke=rows("batch seq_len num_heads num_kv_heads", (2, 12, 4, 2), (1, 40, 8, 1)),
)  # fmt: skip

import torch


def attend(query, key, value):
    logits = masked_logits(query, key)
    lse = torch.logsumexp(logits, dim=-1)
    output = torch.exp(logits - lse[..., None]) @ value.to(torch.float32)[:, :, None]
    return output.view(query.shape).to(query.dtype), lse.view(query.shape[:-1])


def masked_logits(query, key):
    """[batch, kv_heads, group, query, key]; later keys at -inf."""
    batch, _, seq_len, head_dim = query.shape
    grouped = query.to(torch.float32).view(batch, key.shape[1], -1, seq_len, head_dim)
    logits = grouped @ key.to(torch.float32)[:, :, None].transpose(-1, -2) * head_dim**-0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    return logits.masked_fill(later, float("-inf"))


def run(grad_output, query, key, value, output, lse):
    logits = masked_logits(query, key)
    grouped = (*logits.shape[:-1], query.shape[-1])
    weights = torch.exp(logits - lse.view(logits.shape[:-1])[..., None])
    rounded = weights.to(query.dtype).to(torch.float32)  # as a kernel's products take them
    upstream = grad_output.to(torch.float32).view(grouped)
    keys, values = key.to(torch.float32)[:, :, None], value.to(torch.float32)[:, :, None]
    grad_value = (rounded.transpose(-1, -2) @ upstream).sum(dim=2)
    along = (upstream * output.to(torch.float32).view(grouped)).sum(dim=-1, keepdim=True)
    grad_logits = weights * (upstream @ values.transpose(-1, -2) - along) * query.shape[-1] ** -0.5
    grad_logits = grad_logits.to(query.dtype).to(torch.float32)
    grad_query = (grad_logits @ keys).view(query.shape)
    grad_key = (grad_logits.transpose(-1, -2) @ query.to(torch.float32).view(grouped)).sum(dim=2)
    return grad_query.to(query.dtype), grad_key.to(key.dtype), grad_value.to(value.dtype)
