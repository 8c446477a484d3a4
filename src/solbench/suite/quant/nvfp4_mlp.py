"""A gated MLP with NVFP4 weights and bfloat16 activations between its two products."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

FIRST = draw.nvfp4_blocks(rows="two_inner", columns="hidden", fan_in="hidden")
SECOND = draw.nvfp4_blocks(rows="hidden", columns="inner", fan_in="inner")
PROBLEM = Problem(
    name="nvfp4_mlp_h4096_i12288",
    tier="Quant",
    family="mlp",
    models=(
        Model(
            "nvidia/Qwen3-8B-FP4",
            "hidden_size 4096, intermediate_size 12288, NVFP4",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 4096, "inner": 12288, "two_inner": "2 * inner",
        "packed_hidden": "hidden // 2", "hidden_blocks": "hidden // 16",
        "packed_inner": "inner // 2", "inner_blocks": "inner // 16",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "gate_up": weight("float4_e2m1fn_x2[two_inner, packed_hidden]", FIRST["values"]),
        "gate_up_scales": weight("float8_e4m3fn[two_inner, hidden_blocks]", FIRST["scales"]),
        "gate_up_global": weight("float32[]", FIRST["global_scale"]),
        "down": weight("float4_e2m1fn_x2[hidden, packed_inner]", SECOND["values"]),
        "down_scales": weight("float8_e4m3fn[hidden, inner_blocks]", SECOND["scales"]),
        "down_global": weight("float32[]", SECOND["global_scale"]),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 27, 32, 64, 128, 200, 256, 512, 1024, 2048, 3000, 4096)
    ),
    smoke=rows("num_tokens hidden inner", (3, 128, 96), (20, 256, 160)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, gate_up, gate_up_scales, gate_up_global, down, down_scales, down_global):
    first = x.to(torch.float32) @ scaled(gate_up, gate_up_scales).T * gate_up_global
    gate, up = first.chunk(2, dim=-1)
    inner = (torch.nn.functional.silu(gate) * up).to(x.dtype)
    return (inner.to(torch.float32) @ scaled(down, down_scales).T * down_global).to(x.dtype)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
