"""A linear layer in NVFP4 on both sides: two values a byte, a scale for each 16 along k, one a tensor."""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

INPUT = draw.nvfp4_blocks(rows="num_tokens", columns="hidden")
WEIGHT = draw.nvfp4_blocks(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="nvfp4_linear_h8192_o57344",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/Llama-3.3-70B-Instruct-FP4",
            "hidden_size 8192, 2 × intermediate_size 28672, NVFP4",
            read="its base model: ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 8192, "width": 57344,
        "packed": "hidden // 2", "blocks": "hidden // 16",
    },
    inputs={
        "x": activation("float4_e2m1fn_x2[num_tokens, packed]", INPUT["values"]),
        "x_scales": activation("float8_e4m3fn[num_tokens, blocks]", INPUT["scales"]),
        "x_global_scale": activation("float32[]", INPUT["global_scale"], ("scale",)),
        "weight": weight("float4_e2m1fn_x2[width, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[width, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(1, 4, 8, 16, 30, 64, 128, 200, 256, 512, 777, 1024, 2048, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden width", (5, 256, 96), (40, 512, 160)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, x_scales, x_global_scale, weight, weight_scales, weight_global_scale):
    product = scaled(x, x_scales) @ scaled(weight, weight_scales).T
    return (product * (x_global_scale * weight_global_scale)).to(torch.bfloat16)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
