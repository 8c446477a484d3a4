"""An encoder layer in float32 with a learnt bias for each pair of positions in place of scaled logits.

The bias of all heads was looked up once for the whole encoder. Norms keep the mean; the MLP is a GEGLU; nothing
else has a bias.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="encoder_layer_relative_bias_fp32_h4096",
    tier="L2",
    family="encoder_layer",
    models=(
        Model(
            "google/t5-v1_1-xxl",
            "d_model 4096, num_heads 64, d_kv 64, d_ff 10240, gated-gelu",
            read="google-research/t5x: examples/t5/t5_1_1/xxl.gin",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 4096, "inner": 10240, "heads": 64, "head_dim": 64,
        "width": "heads * head_dim", "qk_fan_in": "8 * hidden",
    },
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(std=2.0), EVERY_KIND),
        "position_bias": activation("float32[heads, seq_len, seq_len]", draw.normal(std=1.5)),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "qk_weight": weight("float32[2, width, hidden]", draw.weight_matrix(fan_in="qk_fan_in")),
        "value_weight": weight("float32[width, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, width]", draw.weight_matrix()),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "gate_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
    },
    outputs={"y": "float32[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 77), (1, 128), (1, 226), (1, 256), (1, 300), (1, 512), (2, 128), (2, 256),
        (2, 512), (4, 77), (4, 256), (4, 512), (8, 128), (8, 300), (16, 256), (32, 128),
    ),
    smoke=rows("batch seq_len hidden inner heads head_dim", (2, 9, 64, 96, 4, 16), (1, 28, 96, 128, 3, 32)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, position_bias, attention_gain, qk_weight, value_weight, output_weight,
    mlp_gain, gate_weight, up_weight, down_weight,
):  # fmt: skip
    heads = position_bias.shape[0]
    normalised = rmsnorm(x, attention_gain)
    query, key, value = (
        (normalised @ matrix.T).unflatten(-1, (heads, -1)).transpose(1, 2)
        for matrix in (*qk_weight, value_weight)
    )
    weights = torch.softmax(query @ key.transpose(-1, -2) + position_bias, dim=-1)
    x = x + (weights @ value).transpose(1, 2).flatten(2) @ output_weight.T
    normalised = rmsnorm(x, mlp_gain)
    opening = functional.gelu(normalised @ gate_weight.T, approximate="tanh")
    return x + (opening * (normalised @ up_weight.T)) @ down_weight.T


def rmsnorm(values, gain):
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * gain
