"""A decoder layer in float32 whose attention and MLP both start from its input; one residual takes both.

A LayerNorm for each. The first quarter of a head's channels is rotated; query, key and value of a head lie
together; everything has biases.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="pairs", base=10000.0, latest=1)
PROBLEM = Problem(
    name="decoder_layer_parallel_fp32_h2560",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "EleutherAI/pythia-2.8b",
            "hidden_size 2560, intermediate_size 10240, 32 heads, rotary_pct 0.25, "
            "use_parallel_residual true",
            read="EleutherAI/pythia: models/2.8B/pythia-2.8b.yml",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 2560, "inner": 10240, "heads": 32, "pairs": 10,
        "three_hidden": "3 * hidden",
    },
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[seq_len, pairs]", ROPE["cos"]),
        "sin": activation("float32[seq_len, pairs]", ROPE["sin"]),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "attention_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "qkv_weight": weight("float32[three_hidden, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("float32[three_hidden]", draw.normal(std=0.2)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "mlp_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "down_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "float32[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 64), (1, 128), (1, 500), (1, 1024), (1, 2048), (2, 256), (2, 777), (2, 2048),
        (4, 128), (4, 1024), (4, 2048), (8, 512), (8, 1024), (16, 128), (16, 512), (32, 256),
    ),
    smoke=rows("batch seq_len hidden inner heads pairs", (2, 9, 64, 128, 4, 2), (1, 26, 96, 192, 3, 4)),
)  # fmt: skip

import torch


def run(
    x, cos, sin, attention_gain, attention_shift, qkv_weight, qkv_bias, output_weight, output_bias,
    mlp_gain, mlp_shift, up_weight, up_bias, down_weight, down_bias, heads,
):  # fmt: skip
    projected = layernorm(x, attention_gain, attention_shift) @ qkv_weight.T + qkv_bias
    query, key, value = projected.unflatten(-1, (heads, -1)).transpose(1, 2).chunk(3, dim=-1)
    attended = attention(rotate(query, cos, sin), rotate(key, cos, sin), value)
    inner = layernorm(x, mlp_gain, mlp_shift) @ up_weight.T + up_bias
    widened = torch.nn.functional.gelu(inner) @ down_weight.T + down_bias
    return x + attended @ output_weight.T + output_bias + widened


def attention(query, key, value):
    seq_len = query.shape[2]
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    return (weights @ value).transpose(1, 2).flatten(2)


def layernorm(values, gain, shift):
    centred = values - values.mean(dim=-1, keepdim=True)
    variance = centred.pow(2).mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-5) * gain + shift


def rotate(values, cos, sin):
    pairs = cos.shape[1]
    first, second, rest = values.split([pairs, pairs, values.shape[-1] - 2 * pairs], dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], dim=-1)
