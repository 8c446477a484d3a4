"""SwiGLU, quantisation of its result to NVFP4 with a known global scale, and the down projection.

The inner values go from the activation to half a byte without being stored in 16 bits.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

WEIGHT = draw.nvfp4_blocks(rows="hidden", columns="inner", fan_in="inner")
PROBLEM = Problem(
    name="nvfp4_swiglu_down_i28672_h8192",
    tier="Quant",
    family="mlp",
    models=(
        Model(
            "nvidia/Llama-3.3-70B-Instruct-FP4",
            "intermediate_size 28672, hidden_size 8192",
            read="its base model: ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={
        "num_tokens": var, "inner": 28672, "two_inner": "2 * inner", "hidden": 8192,
        "packed": "inner // 2", "blocks": "inner // 16",
    },
    inputs={
        "gate_up": activation("bfloat16[num_tokens, two_inner]", draw.normal(std=1.5), ("sign", "sparsity")),
        "weight": weight("float4_e2m1fn_x2[hidden, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[hidden, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
        "global_scale": scalar("float32", 0.015),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 29, 64, 128, 256, 333, 512, 1024, 2048, 2500, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens inner hidden", (5, 256, 96), (24, 512, 160)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(gate_up, weight, weight_scales, weight_global_scale, global_scale):
    gate, up = gate_up.to(torch.float32).chunk(2, dim=-1)
    inner = to_nvfp4(torch.nn.functional.silu(gate) * up, global_scale)
    return (inner @ scaled(weight, weight_scales).T * weight_global_scale).to(torch.bfloat16)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)


def to_nvfp4(values, global_scale):
    """The values that NVFP4 keeps, as numbers."""
    blocks = values.unflatten(-1, (-1, 16))
    scales = blocks.abs().amax(dim=-1, keepdim=True) / 6.0 / global_scale
    step = scales.clamp(max=448.0).to(torch.float8_e4m3fn).to(torch.float32) * global_scale
    size = (blocks / step.clamp_min(1e-30)).abs()  # a block of zeros has a step of zero
    # Steps are ½ below 2, 1 up to 4, 2 up to 6; a code counts them.
    upper = torch.where(size < 4, size.round() + 2, (size / 2).round() + 4)
    code = torch.where(size < 2, (size * 2).round(), upper).clamp(max=7).long()
    values = torch.tensor(VALUES, device=blocks.device)[code + 8 * (blocks < 0).long()]
    return (values * step).flatten(-2)
