"""A linear layer whose weight alone is NVFP4: bfloat16 activations, the weight is expanded on the way.

For few tokens: half a byte a weight is what counts.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

WEIGHT = draw.nvfp4_blocks(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="nvfp4_weight_only_h5120_o5120",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/Qwen3-14B-FP4",
            "hidden_size 5120, o_proj of 40 heads × 128, NVFP4",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 5120, "width": 5120,
        "packed": "hidden // 2", "blocks": "hidden // 16",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "weight": weight("float4_e2m1fn_x2[width, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[width, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows("num_tokens", *(1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, 100, 128, 256, 512)),
    smoke=rows("num_tokens hidden width", (3, 256, 96), (17, 512, 160)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, weight, weight_scales, weight_global_scale):
    pairs = weight.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)  # the low half comes first
    values = torch.tensor(VALUES, device=weight.device)[codes.long()]
    wide = values * weight_scales.to(torch.float32).repeat_interleave(16, dim=-1)
    return (x.to(torch.float32) @ wide.T * weight_global_scale).to(torch.bfloat16)
