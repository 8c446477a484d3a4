"""Backward of a linear layer with bias in bfloat16: gradients of input, weight and bias."""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="linear_backward_bf16_i4304_o1152",
    tier="L1",
    family="projection",
    direction="backward",
    models=(
        Model(
            "google/gemma-3-4b-it",
            "vision_config: hidden_size 1152, intermediate_size 4304",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
        Model(
            "google/siglip-so400m-patch14-384",
            "hidden_size 1152, intermediate_size 4304",
            "multimodal",
            read="google-research/big_vision: models/vit.py, So400m",
        ),
    ),
    axes={"batch": var, "patches": var, "inner": 4304, "hidden": 1152},
    inputs={
        "grad_y": activation("bfloat16[batch, patches, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[batch, patches, inner]", draw.normal(), EVERY_KIND),
        "weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
    },
    outputs={
        "grad_x": "bfloat16[batch, patches, inner]",
        "grad_weight": "bfloat16[hidden, inner]",
        "grad_bias": "bfloat16[hidden]",
    },
    gradient=Gradient("forward", ("x", "weight", "bias"), ("grad_y",), ("x", "weight", "bias")),
    workloads=rows(
        "batch patches",
        (1, 256), (1, 729), (1, 1024), (1, 4096), (2, 256), (2, 729), (2, 4096), (3, 1000),
        (4, 256), (4, 4096), (8, 729), (8, 1024), (8, 4096), (16, 729), (32, 729), (64, 256),
    ),
    smoke=rows("batch patches inner hidden", (2, 9, 128, 64), (1, 40, 538, 144)),
)  # fmt: skip

import torch


def forward(x, weight, bias):
    return x @ weight.T + bias


def run(grad_y, x, weight):
    rows, upstream = x.flatten(0, 1), grad_y.flatten(0, 1)
    grad_bias = upstream.to(torch.float32).sum(dim=0)
    return grad_y @ weight, upstream.T @ rows, grad_bias.to(weight.dtype)
