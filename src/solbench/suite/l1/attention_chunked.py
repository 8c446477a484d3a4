"""Attention of a streaming speech encoder: a frame sees its own chunk and a few chunks before it.

Chunks of 14 frames with 5 chunks to the left: latency is bounded, work grows with length only linearly.
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
    scalar,
    var,
)

PROBLEM = Problem(
    name="attention_chunked_fp32_h8_d64",
    tier="L1",
    family="attention",
    models=(
        Model(
            "nvidia/stt_en_fastconformer_hybrid_large_streaming_multi",
            "encoder: d_model 512, n_heads 8, att_context_style chunked_limited, "
            "att_context_size 70, 13",
            "audio", read="NVIDIA/NeMo: fast-conformer_transducer_bpe.yaml, table of sizes",
        ),
    ),
    axes={"batch": var, "frames": var, "chunk": 14, "left": 5, "heads": 8, "head_dim": 64},
    inputs={
        "query": activation("float32[batch, heads, frames, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("float32[batch, heads, frames, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("float32[batch, heads, frames, head_dim]", draw.normal(), EVERY_KIND),
        "chunk": scalar("int32", "chunk"),
        "left": scalar("int32", "left"),
    },
    outputs={"output": "float32[batch, heads, frames, head_dim]"},
    workloads=rows(
        "batch frames",
        (1, 100), (1, 250), (1, 500), (1, 1000), (1, 2500), (1, 6000), (2, 333), (2, 1250),
        (4, 125), (4, 750), (8, 250), (8, 1500), (16, 300), (16, 1000), (32, 500), (64, 250),
    ),
    smoke=rows("batch frames chunk left heads", (2, 20, 4, 2, 2), (1, 50, 7, 1, 4)),
)  # fmt: skip

import torch


def run(query, key, value, chunk, left):
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    number = torch.arange(query.shape[-2], device=query.device) // chunk
    behind = number[:, None] - number[None, :]
    hidden = (behind < 0) | (behind > left)
    return torch.softmax(logits.masked_fill(hidden, float("-inf")), dim=-1) @ value
