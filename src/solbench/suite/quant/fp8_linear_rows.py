"""A linear layer in FP8 with a scale for each token and for each output channel; tokens are quantised here.

The input comes in bfloat16: each token's largest magnitude becomes 448, its values are rounded to E4M3, and the
product is scaled by both.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

WEIGHT = draw.fp8_rows(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="fp8_linear_rows_h8192_o10240",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
            "hidden_size 8192, (64 + 2 × 8) heads × 128, dynamic per-token and per-channel FP8",
            read="its base model: ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={"num_tokens": var, "hidden": 8192, "width": 10240},
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "weight": weight("float8_e4m3fn[width, hidden]", WEIGHT["values"]),
        "weight_scales": weight("float32[width, 1]", WEIGHT["scales"]),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 25, 64, 128, 256, 300, 512, 1024, 1500, 2048, 4096, 5000, 8192)
    ),
    smoke=rows("num_tokens hidden width", (5, 256, 160), (40, 512, 320)),
)  # fmt: skip

import torch


def run(x, weight, weight_scales):
    wide = x.to(torch.float32)
    scales = wide.abs().amax(dim=-1, keepdim=True) / 448.0
    codes = (wide / scales).to(torch.float8_e4m3fn)
    product = codes.to(torch.float32) @ weight.to(torch.float32).T
    return (product * scales * weight_scales.T).to(torch.bfloat16)
