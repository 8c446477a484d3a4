"""Attention that verifies a tree of guessed tokens: each sees the whole prefix and its own ancestors.

The tree's nodes stand behind the prefix; a node's parent always has a smaller number.
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
    name="attention_tree_bf16_h64_kv8_d128",
    tier="L1",
    family="attention",
    models=(
        Model(
            "meta-llama/Llama-3.3-70B-Instruct",
            "num_attention_heads 64, num_key_value_heads 8",
            read="ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={
        "batch": var, "nodes": var, "prefix": var, "keys": "prefix + nodes",
        "num_heads": 64, "num_kv_heads": 8, "head_dim": 128,
    },
    inputs={
        "query": activation("bfloat16[batch, nodes, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[batch, keys, num_kv_heads, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[batch, keys, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
        "ancestor": activation("bool[batch, nodes, nodes]", draw.tree_mask()),
    },
    outputs={"output": "bfloat16[batch, nodes, num_heads, head_dim]"},
    workloads=rows(
        "batch nodes prefix",
        (1, 8, 100), (1, 16, 1000), (1, 26, 4096), (1, 60, 2048), (1, 64, 8192), (2, 26, 777), (2, 64, 2048),
        (4, 16, 1024), (4, 60, 3000), (8, 8, 2048), (8, 26, 4096), (16, 16, 1500), (16, 26, 2048),
        (32, 8, 1024), (32, 26, 1024), (64, 16, 512),
    ),
    smoke=rows("batch nodes prefix num_heads num_kv_heads", (2, 6, 10, 4, 2), (1, 16, 50, 8, 1)),
)  # fmt: skip

import torch


def run(query, key, value, ancestor):
    batch, nodes, _, head_dim = query.shape
    grouped = query.to(torch.float32).view(batch, nodes, key.shape[2], -1, head_dim)
    logits = torch.einsum("bqhgd,bkhd->bhgqk", grouped, key.to(torch.float32)) * head_dim**-0.5
    prefix = torch.ones(batch, nodes, key.shape[1] - nodes, dtype=torch.bool, device=key.device)
    seen = torch.cat([prefix, ancestor], dim=-1)[:, None, None]
    weights = torch.softmax(logits.masked_fill(~seen, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = torch.einsum("bhgqk,bkhd->bqhgd", weights, value.to(torch.float32))
    return output.reshape(query.shape).to(query.dtype)
