"""Bidirectional attention of a diffusion language model over a padded batch: padding is seen by no one.

Outputs at padded places are zero.
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
    name="attention_padded_bf16_h32_d128",
    tier="L1",
    family="attention",
    models=(
        Model(
            "GSAI-ML/LLaDA-8B-Instruct",
            "d_model 4096, n_heads 32, n_kv_heads 32",
            "diffusion", read="iLLaDA-8B-Base, model card, table of architectures",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 32, "head_dim": 128},
    inputs={
        "query": activation("bfloat16[batch, seq_len, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[batch, seq_len, num_heads, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[batch, seq_len, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "real": activation("bool[batch, seq_len]", draw.padding_mask()),
    },
    outputs={"output": "bfloat16[batch, seq_len, num_heads, head_dim]"},
    workloads=rows(
        "batch seq_len",
        (1, 64), (1, 200), (1, 512), (1, 1024), (1, 2048), (1, 4096), (2, 128), (2, 777),
        (2, 2048), (4, 256), (4, 1024), (8, 128), (8, 512), (16, 300), (16, 512), (32, 256),
    ),
    smoke=rows("batch seq_len num_heads", (2, 16, 2), (3, 33, 3)),
)  # fmt: skip

import torch


def run(query, key, value, real):
    logits = torch.einsum("bqhd,bkhd->bhqk", query.to(torch.float32), key.to(torch.float32))
    logits = logits * query.shape[-1] ** -0.5
    weights = torch.softmax(logits.masked_fill(~real[:, None, None, :], float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = torch.einsum("bhqk,bkhd->bqhd", weights, value.to(torch.float32))
    return output.masked_fill(~real[:, :, None, None], 0.0).to(query.dtype)
