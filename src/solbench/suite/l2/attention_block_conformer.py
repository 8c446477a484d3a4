"""Attention block of a conformer in float32: products with keys and with relative positions, padded batches.

A learnt bias joins the query before the product with keys, another before that with the projected encodings
of the 2 T − 1 distances. Frames after a recording's end are not attended to.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="attention_block_conformer_fp32_h1024",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "nvidia/canary-1b",
            "encoder: d_model 1024, n_heads 8, rel_pos attention",
            "audio", read="NVIDIA/NeMo: fast-conformer_transducer_bpe.yaml, table of sizes",
        ),
    ),
    axes={
        "batch": var, "frames": var, "hidden": 1024, "heads": 8, "head_dim": "hidden // heads",
        "three": "3 * hidden", "distances": "2 * frames - 1",
    },
    inputs={
        "x": activation("float32[batch, frames, hidden]", draw.normal(), EVERY_KIND),
        "encoding": activation("float32[distances, hidden]", draw.uniform(low=-1.0)),
        "real": activation("bool[batch, frames]", draw.padding_mask()),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "qkv_weight": weight("float32[three, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("float32[three]", draw.normal(std=0.2)),
        "position_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "key_bias": weight("float32[heads, head_dim]", draw.normal(std=0.3)),
        "position_bias": weight("float32[heads, head_dim]", draw.normal(std=0.3)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
    },
    outputs={"y": "float32[batch, frames, hidden]"},
    workloads=rows(
        "batch frames",
        (1, 25), (1, 125), (1, 250), (1, 375), (1, 500), (1, 750), (1, 1500), (1, 3000),
        (2, 188), (2, 625), (4, 125), (4, 375), (8, 125), (8, 333), (16, 250), (32, 125),
    ),
    smoke=rows("batch frames hidden heads", (2, 9, 64, 4), (1, 30, 96, 3)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, encoding, real, gain, shift, qkv_weight, qkv_bias, position_weight, key_bias, position_bias,
    output_weight, output_bias,
):  # fmt: skip
    frames, (heads, head_dim) = x.shape[1], key_bias.shape
    normalised = functional.layer_norm(x, x.shape[-1:], gain, shift, eps=1e-5)
    projected = (normalised @ qkv_weight.T + qkv_bias).unflatten(-1, (3, heads, head_dim))
    query, key, value = projected.permute(2, 0, 3, 1, 4)  # each [batch, heads, frames, head_dim]
    position = (encoding @ position_weight.T).unflatten(-1, (heads, head_dim)).transpose(0, 1)
    by_key = (query + key_bias[:, None]) @ key.transpose(-1, -2)
    by_distance = (query + position_bias[:, None]) @ position.transpose(-1, -2)
    place = torch.arange(frames, device=x.device)
    # Column c of a row holds distance frames - 1 - c: the earliest key of the last query comes first.
    column = (place[None, :] - place[:, None] + frames - 1).expand(by_key.shape)
    logits = (by_key + by_distance.gather(-1, column)) * head_dim**-0.5
    weights = torch.softmax(logits.masked_fill(~real[:, None, None], float("-inf")), dim=-1)
    attended = (weights @ value).transpose(1, 2).flatten(2)
    return x + attended @ output_weight.T + output_bias
