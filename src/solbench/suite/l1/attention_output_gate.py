"""Causal attention whose output passes a sigmoid gate, channel by channel; heads of 256, eight to a key.

Query and gate come interleaved by head from one projection.
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

PROBLEM = Problem(
    name="attention_output_gate_bf16_h16_kv2_d256",
    tier="L1",
    family="attention",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "num_attention_heads 16, num_key_value_heads 2, head_dim 256",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "num_heads": 16, "num_kv_heads": 2, "head_dim": 256,
        "two_dim": "2 * head_dim", "hidden": "num_heads * head_dim",
    },
    inputs={
        "query_gate": activation("bfloat16[batch, seq_len, num_heads, two_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[batch, seq_len, num_kv_heads, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[batch, seq_len, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
    },
    outputs={"output": "bfloat16[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 300), (1, 1024), (1, 2048), (1, 4096), (1, 8192), (2, 512), (2, 1111),
        (2, 4096), (4, 256), (4, 2048), (8, 512), (8, 1024), (16, 400), (32, 256), (64, 128),
    ),
    smoke=rows("batch seq_len num_heads num_kv_heads", (2, 16, 4, 2), (1, 40, 4, 1)),
)  # fmt: skip

import torch


def run(query_gate, key, value):
    batch, seq_len, _, head_dim = key.shape
    query, gate = query_gate.to(torch.float32).chunk(2, dim=-1)
    grouped = query.reshape(batch, seq_len, key.shape[2], -1, head_dim)
    logits = torch.einsum("bqhgd,bkhd->bhgqk", grouped, key.to(torch.float32)) * head_dim**-0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=key.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(key.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = torch.einsum("bhgqk,bkhd->bqhgd", weights, value.to(torch.float32))
    return (attended.reshape(gate.shape) * torch.sigmoid(gate)).flatten(2).to(key.dtype)
