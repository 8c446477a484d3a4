"""Squared ReLU between the two projections of an MLP that has no gate."""

from solbench.suite import Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="squared_relu_bf16_i30720",
    tier="L1",
    family="activation",
    models=(
        Model("nvidia/Nemotron-H-47B-Base-8K", "intermediate_size 30720, mlp_hidden_act relu2"),
        Model("nvidia/Nemotron-H-8B-Base-8K", "intermediate_size 21504, mlp_hidden_act relu2"),
    ),
    axes={"num_tokens": var, "inner": 30720},
    inputs={"x": activation("bfloat16[num_tokens, inner]", draw.normal())},
    outputs={"y": "bfloat16[num_tokens, inner]"},
    workloads=rows(
        "num_tokens inner",
        (1, 30720), (2, 21504), (8, 30720), (16, 21504), (45, 30720), (64, 30720), (128, 21504), (256, 30720),
        (512, 30720), (1000, 21504), (1024, 30720), (2048, 30720), (4096, 21504), (4096, 30720),
        (8192, 30720), (12000, 21504),
    ),
    smoke=rows("num_tokens inner", (5, 640), (33, 1920)),
)  # fmt: skip

import torch


def run(x):
    return torch.relu(x.to(torch.float32)).pow(2).to(x.dtype)
