"""A text encoder's local layer in float32 on packed sequences: a token sees 64 others to either side.

Sequences lie one after another; positions start anew with each. LayerNorm without shift, a GEGLU, no
biases.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_dim", base=10000.0, latest=1)
PACKED = draw.ragged_lengths(sequences="sequences", total="num_tokens", least=1, spread=0.7)
PROBLEM = Problem(
    name="encoder_layer_packed_local_fp32_h768_w128",
    tier="L2",
    family="encoder_layer",
    models=(
        Model(
            "answerdotai/ModernBERT-base",
            "hidden_size 768, intermediate_size 1152, num_attention_heads 12, local_attention "
            "128, norm_bias false",
            read="huggingface/transformers: configuration_modernbert.py",
        ),
    ),
    axes={
        "sequences": var, "num_tokens": var, "hidden": 768, "inner": 1152, "two_inner": "2 * inner",
        "three_hidden": "3 * hidden", "half_dim": 32, "reach": 64,
    },
    inputs={
        "x": activation("float32[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "lengths": activation("int32[sequences]", PACKED["lengths"]),
        "cos": activation("float32[num_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_dim]", ROPE["sin"]),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "qkv_weight": weight("float32[three_hidden, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("float32[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "reach": scalar("int32", "reach"),
    },
    outputs={"y": "float32[num_tokens, hidden]"},
    workloads=rows(
        "sequences num_tokens",
        (1, 128), (1, 512), (1, 2000), (1, 4096), (2, 300), (2, 2048), (4, 512), (4, 3000),
        (8, 1024), (8, 4096), (16, 1024), (16, 3500), (32, 2048), (32, 4096), (64, 3000), (64, 4096),
    ),
    smoke=rows(
        "sequences num_tokens hidden inner half_dim reach", (3, 20, 64, 96, 8, 3), (2, 33, 96, 128, 16, 8)
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, lengths, cos, sin, attention_gain, qkv_weight, output_weight, mlp_gain, gate_up_weight, down_weight,
    reach,
):  # fmt: skip
    sequence, position = places(lengths, x.shape[0])
    projected = layernorm(x, attention_gain) @ qkv_weight.T
    query, key, value = projected.unflatten(-1, (3, -1, 2 * cos.shape[1])).permute(1, 2, 0, 3)
    query, key = (rotate(each, cos[position], sin[position]) for each in (query, key))
    apart = (position[:, None] - position).abs() > reach
    hidden = apart | (sequence[:, None] != sequence)
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    weights = torch.softmax(logits.masked_fill(hidden, float("-inf")), dim=-1)
    x = x + (weights @ value).transpose(0, 1).flatten(1) @ output_weight.T
    gate, up = (layernorm(x, mlp_gain) @ gate_up_weight.T).chunk(2, dim=-1)
    return x + (functional.gelu(gate) * up) @ down_weight.T


def places(lengths, num_tokens):
    """Of each token: the number of its sequence, and its position in it."""
    ends = lengths.cumsum(0)
    token = torch.arange(num_tokens, device=lengths.device)
    sequence = (token[:, None] >= ends).sum(dim=1)
    return sequence, token - (ends - lengths)[sequence]


def layernorm(values, gain):
    centred = values - values.mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-5) * gain


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
