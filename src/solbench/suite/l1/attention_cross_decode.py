"""Decode steps of a speech model's cross-attention: a few new tokens against 1500 encoded frames, in float32.

Keys and values of a clip do not change from step to step. Several hypotheses of a beam share one clip.
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
    name="attention_cross_decode_fp32_h20_d64",
    tier="L1",
    family="attention",
    models=(
        Model(
            "openai/whisper-large-v3",
            "decoder_attention_heads 20, d_model 1280",
            "audio", read="k2-fsa/sherpa-onnx: scripts/whisper/model-info.md",
        ),
    ),
    axes={"clips": var, "beams": var, "frames": 1500, "num_heads": 20, "head_dim": 64},
    inputs={
        "query": activation("float32[clips, beams, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("float32[clips, num_heads, frames, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("float32[clips, num_heads, frames, head_dim]", draw.normal(), EVERY_KIND),
    },
    outputs={"output": "float32[clips, beams, num_heads, head_dim]"},
    workloads=rows(
        "clips beams",
        (1, 1), (1, 3), (1, 5), (2, 1), (2, 5), (3, 4), (4, 1), (4, 5), (7, 2), (8, 1), (8, 5),
        (16, 1), (16, 5), (32, 1), (32, 5), (64, 1),
    ),
    smoke=rows("clips beams frames num_heads", (2, 3, 40, 3), (1, 5, 150, 4)),
)  # fmt: skip

import torch


def run(query, key, value):
    # c clips, b beams, h heads, k frames, d channels
    logits = torch.einsum("cbhd,chkd->chbk", query, key) * query.shape[-1] ** -0.5
    return torch.einsum("chbk,chkd->cbhd", torch.softmax(logits, dim=-1), value)
