"""An encoder layer in float32 that normalises after each residual, on a padded batch.

Keys of padding get no weight; rows of padding are computed like others. LayerNorm, GELU, biases everywhere.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="encoder_layer_post_norm_fp32_h768",
    tier="L2",
    family="encoder_layer",
    models=(
        Model(
            "google-bert/bert-base-uncased",
            "hidden_size 768, num_attention_heads 12, intermediate_size 3072, layer_norm_eps "
            "1e-12",
            read="huggingface/transformers: configuration_bert.py",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 768, "inner": 3072, "heads": 12, "three_hidden": "3 * hidden",
    },
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(), ("sign", "outliers", "sparsity")),
        "real": activation("bool[batch, seq_len]", draw.padding_mask()),
        "qkv_weight": weight("float32[three_hidden, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("float32[three_hidden]", draw.normal(std=0.2)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "attention_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "down_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "mlp_shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "float32[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 32), (1, 128), (1, 384), (1, 512), (2, 200), (4, 128), (4, 512), (8, 64),
        (8, 384), (16, 128), (16, 512), (32, 77), (32, 256), (64, 128), (64, 512), (128, 64),
    ),
    smoke=rows("batch seq_len hidden inner heads", (3, 9, 64, 128, 4), (2, 30, 96, 192, 3)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, real, qkv_weight, qkv_bias, output_weight, output_bias, attention_gain, attention_shift,
    up_weight, up_bias, down_weight, down_bias, mlp_gain, mlp_shift, heads,
):  # fmt: skip
    projected = (x @ qkv_weight.T + qkv_bias).unflatten(-1, (3, heads, -1))
    query, key, value = projected.permute(2, 0, 3, 1, 4)
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    weights = torch.softmax(logits.masked_fill(~real[:, None, None], float("-inf")), dim=-1)
    attended = (weights @ value).transpose(1, 2).flatten(2) @ output_weight.T + output_bias
    x = layernorm(x + attended, attention_gain, attention_shift)
    inner = functional.gelu(x @ up_weight.T + up_bias)
    return layernorm(x + inner @ down_weight.T + down_bias, mlp_gain, mlp_shift)


def layernorm(values, gain, shift):
    centred = values - values.mean(dim=-1, keepdim=True)
    variance = centred.pow(2).mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-12) * gain + shift
