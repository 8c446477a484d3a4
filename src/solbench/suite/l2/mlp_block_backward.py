"""Backward of a gated MLP: the input's gradient and those of its three weights.

Gate and up products were kept by the forward; the inner values are recomputed from them.
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
    var,
    weight,
)

PROBLEM = Problem(
    name="mlp_block_backward_bf16_h4096_i12288",
    tier="L2",
    family="mlp_block",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-8B",
            "hidden_size 4096, intermediate_size 12288, hidden_act silu",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"num_tokens": var, "hidden": 4096, "inner": 12288},
    inputs={
        "grad_y": activation("bfloat16[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal()),
        "gate_weight": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "up_weight": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "gate": activation("bfloat16[num_tokens, inner]", computed("project", "x", "gate_weight")),
        "up": activation("bfloat16[num_tokens, inner]", computed("project", "x", "up_weight")),
    },
    outputs={
        "grad_x": "bfloat16[num_tokens, hidden]",
        "grad_gate_weight": "bfloat16[inner, hidden]",
        "grad_up_weight": "bfloat16[inner, hidden]",
        "grad_down_weight": "bfloat16[hidden, inner]",
    },
    gradient=Gradient(
        "forward", ("x", "gate_weight", "up_weight", "down_weight"), ("grad_y",),
        ("x", "gate_weight", "up_weight", "down_weight"),
    ),
    workloads=rows(
        "num_tokens", *(16, 64, 128, 200, 256, 512, 777, 1000, 1024, 1500, 2048, 3000, 4096, 6000, 8192, 16384)
    ),
    smoke=rows("num_tokens hidden inner", (6, 64, 96), (30, 128, 160)),
)  # fmt: skip

import torch


def project(x, weight):
    return x @ weight.T


def activate(gate, up):
    wide = gate.to(torch.float32)
    return (wide * torch.sigmoid(wide) * up.to(torch.float32)).to(gate.dtype)


def forward(x, gate_weight, up_weight, down_weight):
    return activate(project(x, gate_weight), project(x, up_weight)) @ down_weight.T


def run(grad_y, x, gate_weight, up_weight, down_weight, gate, up):
    grad_inner = (grad_y @ down_weight).to(torch.float32)
    grad_down_weight = grad_y.T @ activate(gate, up)
    wide = gate.to(torch.float32)
    share = torch.sigmoid(wide)
    grad_up = (grad_inner * wide * share).to(x.dtype)
    slope = share * (1.0 + wide * (1.0 - share))
    grad_gate = (grad_inner * up.to(torch.float32) * slope).to(x.dtype)
    grad_x = grad_gate @ gate_weight + grad_up @ up_weight
    return grad_x, grad_gate.T @ x, grad_up.T @ x, grad_down_weight
