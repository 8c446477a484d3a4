"""Backward of a speech decoder's cross-attention block in float32, with the gradient of the encoder's frames.

Queries come from the text, keys and values from the frames; the key projection has no bias. Biases were added
before queries and values were kept, so that only their gradients are of interest here.
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

SAVED = computed("saved", "text", "frames", "query_weight", "key_weight", "value_weight", "heads")
WANTED = (
    "text", "frames", "query_weight", "query_bias", "key_weight", "value_weight", "value_bias", "output_weight",
)  # fmt: skip
PROBLEM = Problem(
    name="cross_attention_block_backward_fp32_h1280",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "openai/whisper-large-v3",
            "d_model 1280, decoder_attention_heads 20, max_source_positions 1500",
            "audio", read="k2-fsa/sherpa-onnx: scripts/whisper/model-info.md",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "source": var, "hidden": 1280, "heads": 20,
        "head_dim": "hidden // heads",
    },
    inputs={
        "grad_y": activation("float32[batch, tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "text": activation("float32[batch, tokens, hidden]", draw.normal()),
        "frames": activation("float32[batch, source, hidden]", draw.normal()),
        "query_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "key_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "value_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "heads": scalar("int32", "heads"),
        "query": activation("float32[batch, heads, tokens, head_dim]", SAVED[0]),
        "key": activation("float32[batch, heads, source, head_dim]", SAVED[1]),
        "value": activation("float32[batch, heads, source, head_dim]", SAVED[2]),
        "attended": activation("float32[batch, heads, tokens, head_dim]", SAVED[3]),
        "lse": activation("float32[batch, heads, tokens]", SAVED[4]),
    },
    outputs={
        "grad_text": "float32[batch, tokens, hidden]",
        "grad_frames": "float32[batch, source, hidden]",
        "grad_query_weight": "float32[hidden, hidden]",
        "grad_query_bias": "float32[hidden]",
        "grad_key_weight": "float32[hidden, hidden]",
        "grad_value_weight": "float32[hidden, hidden]",
        "grad_value_bias": "float32[hidden]",
        "grad_output_weight": "float32[hidden, hidden]",
    },
    gradient=Gradient("forward", (*WANTED, "heads"), ("grad_y",), WANTED),
    workloads=rows(
        "batch tokens source",
        (1, 64, 1500), (1, 224, 1500), (1, 448, 1500), (2, 64, 1500), (2, 128, 750), (2, 448, 1500),
        (3, 100, 1000), (4, 64, 1500), (4, 224, 1500), (4, 448, 1500), (8, 32, 1500), (8, 128, 1500),
        (8, 448, 1500), (12, 77, 777), (16, 128, 1500), (16, 224, 1500),
    ),
    smoke=rows("batch tokens source hidden heads", (2, 7, 12, 64, 4), (1, 20, 33, 96, 3)),
)  # fmt: skip

import torch


def saved(text, frames, query_weight, key_weight, value_weight, heads):
    query = split(text @ query_weight.T, heads)
    key, value = split(frames @ key_weight.T, heads), split(frames @ value_weight.T, heads)
    return query, key, value, *attend(query, key, value)


def attend(query, key, value):
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    lse = torch.logsumexp(logits, dim=-1)
    return torch.exp(logits - lse[..., None]) @ value, lse


def forward(
    text, frames, query_weight, query_bias, key_weight, value_weight, value_bias, output_weight, heads
):  # fmt: skip
    query = split(text @ query_weight.T + query_bias, heads)
    key, value = (
        split(frames @ key_weight.T, heads),
        split(frames @ value_weight.T + value_bias, heads),
    )
    return joined(attend(query, key, value)[0]) @ output_weight.T


def split(values, heads):
    return values.unflatten(-1, (heads, -1)).transpose(1, 2)


def joined(heads):
    return heads.transpose(1, 2).flatten(2)


def outer(gradient, values):
    """A weight's gradient: over all tokens of the batch."""
    return gradient.flatten(0, 1).T @ values.flatten(0, 1)


def run(
    grad_y, text, frames, query_weight, key_weight, value_weight, output_weight, heads,
    query, key, value, attended, lse,
):  # fmt: skip
    scale = query.shape[-1] ** -0.5
    upstream = split(grad_y @ output_weight, heads)
    weights = torch.exp(query @ key.transpose(-1, -2) * scale - lse[..., None])
    along = (upstream * attended).sum(dim=-1, keepdim=True)
    grad_logits = weights * (upstream @ value.transpose(-1, -2) - along) * scale
    grad_query = joined(grad_logits @ key)
    grad_key = joined(grad_logits.transpose(-1, -2) @ query)
    grad_value = joined(weights.transpose(-1, -2) @ upstream)
    return (
        grad_query @ query_weight,
        grad_key @ key_weight + grad_value @ value_weight,
        outer(grad_query, text),
        grad_query.sum(dim=(0, 1)),
        outer(grad_key, frames),
        outer(grad_value, frames),
        grad_value.sum(dim=(0, 1)),
        outer(grad_y, joined(attended)),
    )
