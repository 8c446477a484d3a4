"""SwiGLU: SiLU of the gate half times the other half, on the joint output of two projections."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="swiglu_bf16_i28672",
    tier="L1",
    family="activation",
    models=(
        Model(
            "meta-llama/Llama-3.3-70B-Instruct",
            "intermediate_size 28672, hidden_act silu",
            read="ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={"num_tokens": var, "inner": 28672, "two_inner": "2 * inner"},
    inputs={"gate_up": activation("bfloat16[num_tokens, two_inner]", draw.normal(std=1.5), EVERY_KIND)},
    outputs={"y": "bfloat16[num_tokens, inner]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 27, 64, 128, 256, 500, 512, 1024, 2048, 4096, 6000, 8192, 16384)
    ),
    smoke=rows("num_tokens inner", (5, 448), (32, 1792)),
)  # fmt: skip

import torch


def run(gate_up):
    gate, up = gate_up.to(torch.float32).chunk(2, dim=-1)
    return (gate * torch.sigmoid(gate) * up).to(gate_up.dtype)
