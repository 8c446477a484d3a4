"""Backward of a shared expert that each token opens by a sigmoid of itself, in float32.

Gate and up products were kept. The token's gradient comes through the expert and through the opening.
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
    name="moe_shared_expert_backward_fp32_h2048_i512",
    tier="L2",
    family="moe_layer",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "hidden_size 2048, shared_expert_intermediate_size 512, shared_expert_gate",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={"num_tokens": var, "hidden": 2048, "inner": 512, "two_inner": "2 * inner"},
    inputs={
        "grad_y": activation("float32[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[num_tokens, hidden]", draw.normal()),
        "opening": weight("float32[1, hidden]", draw.weight_matrix()),
        "gate_up": weight("float32[two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[hidden, inner]", draw.weight_matrix()),
        "products": activation("float32[num_tokens, two_inner]", computed("project", "x", "gate_up")),
    },
    outputs={
        "grad_x": "float32[num_tokens, hidden]",
        "grad_opening": "float32[1, hidden]",
        "grad_gate_up": "float32[two_inner, hidden]",
        "grad_down": "float32[hidden, inner]",
    },
    gradient=Gradient(
        "forward", ("x", "opening", "gate_up", "down"), ("grad_y",), ("x", "opening", "gate_up", "down")
    ),
    workloads=rows(
        "num_tokens",
        *(64, 128, 256, 500, 512, 1000, 1024, 2048, 3000, 4096, 6000, 8192, 10000, 16384, 24576, 32768),
    ),
    smoke=rows("num_tokens hidden inner", (6, 64, 48), (30, 96, 64)),
)  # fmt: skip

import torch
from torch.nn import functional


def project(x, gate_up):
    return x @ gate_up.T


def forward(x, opening, gate_up, down):
    gate, up = project(x, gate_up).chunk(2, dim=-1)
    return torch.sigmoid(x @ opening.T) * ((functional.silu(gate) * up) @ down.T)


def run(grad_y, x, opening, gate_up, down, products):
    opened = torch.sigmoid(x @ opening.T)
    gate, up = products.chunk(2, dim=-1)
    share = torch.sigmoid(gate)
    inner = gate * share * up
    unopened = grad_y @ down
    grad_opened = (unopened * inner).sum(dim=-1, keepdim=True) * opened * (1.0 - opened)
    grad_inner = unopened * opened
    grad_gate = grad_inner * up * share * (1.0 + gate * (1.0 - share))
    grad_products = torch.cat([grad_gate, grad_inner * gate * share], dim=-1)
    grad_x = grad_products @ gate_up + grad_opened * opening
    return grad_x, grad_opened.T @ x, grad_products.T @ x, (grad_y * opened).T @ inner
