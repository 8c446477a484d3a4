"""A linear layer in FP8 with one scale for all activations and one for the whole weight.

Scales were calibrated beforehand; the sum is scaled once, at the end.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

INPUT = draw.fp8_tensor(rows="num_tokens", columns="hidden")
WEIGHT = draw.fp8_tensor(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="fp8_linear_tensor_h4096_o28672",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/Llama-3.1-8B-Instruct-FP8",
            "hidden_size 4096, 2 × intermediate_size 14336, per-tensor FP8",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"num_tokens": var, "hidden": 4096, "width": 28672},
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scale": activation("float32[]", INPUT["scale"], ("scale",)),
        "weight": weight("float8_e4m3fn[width, hidden]", WEIGHT["values"]),
        "weight_scale": weight("float32[]", WEIGHT["scale"]),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(1, 4, 8, 16, 30, 64, 128, 200, 256, 512, 1000, 1024, 2048, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden width", (5, 256, 192), (48, 512, 320)),
)  # fmt: skip

import torch


def run(x, x_scale, weight, weight_scale):
    product = x.to(torch.float32) @ weight.to(torch.float32).T
    return (product * (x_scale * weight_scale)).to(torch.bfloat16)
