"""Backward of the squared ReLU between the two projections of an MLP that has no gate."""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="squared_relu_backward_bf16_i30720",
    tier="L1",
    family="activation",
    direction="backward",
    models=(
        Model(
            "nvidia/Nemotron-H-47B-Base-8K",
            "intermediate_size 30720, mlp_hidden_act relu2",
            read="NVIDIA-NeMo/Megatron-Bridge: docs/models/llm/nemotronh.md",
        ),
    ),
    axes={"num_tokens": var, "inner": 30720},
    inputs={
        "grad_y": activation("bfloat16[num_tokens, inner]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_tokens, inner]", draw.normal(), EVERY_KIND),
    },
    outputs={"grad_x": "bfloat16[num_tokens, inner]"},
    gradient=Gradient("forward", ("x",), ("grad_y",), ("x",)),
    workloads=rows(
        "num_tokens inner",
        (16, 30720), (45, 21504), (64, 30720), (128, 21504), (256, 30720), (500, 30720), (512, 21504),
        (1000, 21504), (1024, 30720), (2048, 21504), (2048, 30720), (3333, 30720), (4096, 21504),
        (4096, 30720), (8192, 30720), (12000, 21504),
    ),
    smoke=rows("num_tokens inner", (5, 640), (33, 1920)),
)  # fmt: skip

import torch


def forward(x):
    return torch.relu(x.to(torch.float32)).pow(2).to(x.dtype)


def run(grad_y, x):
    return (grad_y.to(torch.float32) * 2.0 * torch.relu(x.to(torch.float32))).to(x.dtype)
