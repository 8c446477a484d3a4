"""Backward of a gated attention output in float32: sigmoid gate made from the input, output projection.

The gate's sigmoid was kept. Gradients go to the attention's result, to the input of the gate and to both
weights.
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
    name="attention_gate_output_backward_fp32_h2048",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "hidden_size 2048, num_attention_heads 16 × head_dim 256, attn_output_gate",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={"num_tokens": var, "hidden": 2048, "width": 4096},
    inputs={
        "grad_y": activation("float32[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "attended": activation("float32[num_tokens, width]", draw.normal(std=0.5), EVERY_KIND),
        "x": activation("float32[num_tokens, hidden]", draw.normal()),
        "gate_weight": weight("float32[width, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, width]", draw.weight_matrix()),
        "opening": activation("float32[num_tokens, width]", computed("openings", "x", "gate_weight")),
    },
    outputs={
        "grad_attended": "float32[num_tokens, width]",
        "grad_x": "float32[num_tokens, hidden]",
        "grad_gate_weight": "float32[width, hidden]",
        "grad_output_weight": "float32[hidden, width]",
    },
    gradient=Gradient(
        "forward", ("attended", "x", "gate_weight", "output_weight"), ("grad_y",),
        ("attended", "x", "gate_weight", "output_weight"),
    ),
    workloads=rows(
        "num_tokens", *(16, 64, 128, 256, 333, 512, 777, 1024, 1500, 2048, 3000, 4096, 5000, 6144, 8192, 16384)
    ),
    smoke=rows("num_tokens hidden width", (6, 64, 96), (30, 96, 160)),
)  # fmt: skip

import torch


def openings(x, gate_weight):
    return torch.sigmoid(x @ gate_weight.T)


def forward(attended, x, gate_weight, output_weight):
    return (attended * openings(x, gate_weight)) @ output_weight.T


def run(grad_y, attended, x, gate_weight, output_weight, opening):
    grad_gated = grad_y @ output_weight
    grad_output_weight = grad_y.T @ (attended * opening)
    grad_gate = grad_gated * attended * opening * (1.0 - opening)
    return grad_gated * opening, grad_gate @ gate_weight, grad_gate.T @ x, grad_output_weight
