"""A shared expert in NVFP4 throughout: tokens quantised, SwiGLU between two products, inner values quantised.

Both quantisations use a global scale found at calibration; scales of 16 channels are taken from the values.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

FIRST = draw.nvfp4_blocks(rows="two_inner", columns="hidden", fan_in="hidden")
SECOND = draw.nvfp4_blocks(rows="hidden", columns="inner", fan_in="inner", label="down")
PROBLEM = Problem(
    name="nvfp4_shared_expert_h7168_i2048",
    tier="Quant",
    family="mlp",
    models=(
        Model(
            "nvidia/DeepSeek-R1-FP4",
            "hidden_size 7168, n_shared_experts 1, moe_intermediate_size 2048",
            read="its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 7168, "inner": 2048, "two_inner": "2 * inner",
        "packed_hidden": "hidden // 2", "hidden_blocks": "hidden // 16",
        "packed_inner": "inner // 2", "inner_blocks": "inner // 16",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), ("sign", "sparsity")),
        "gate_up": weight("float4_e2m1fn_x2[two_inner, packed_hidden]", FIRST["values"]),
        "gate_up_scales": weight("float8_e4m3fn[two_inner, hidden_blocks]", FIRST["scales"]),
        "gate_up_global": weight("float32[]", FIRST["global_scale"]),
        "down": weight("float4_e2m1fn_x2[hidden, packed_inner]", SECOND["values"]),
        "down_scales": weight("float8_e4m3fn[hidden, inner_blocks]", SECOND["scales"]),
        "down_global": weight("float32[]", SECOND["global_scale"]),
        "x_global": scalar("float32", 0.00237),
        "inner_global": scalar("float32", 0.00613),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 27, 64, 128, 200, 256, 512, 1000, 1024, 2048, 3000, 4096, 8192)
    ),
    smoke=rows("num_tokens hidden inner", (5, 256, 96), (24, 384, 160)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(
    x,
    gate_up,
    gate_up_scales,
    gate_up_global,
    down,
    down_scales,
    down_global,
    x_global,
    inner_global,
):
    tokens = to_nvfp4(x.to(torch.float32), x_global)
    gate, up = (tokens @ scaled(gate_up, gate_up_scales).T * gate_up_global).chunk(2, dim=-1)
    inner = to_nvfp4(torch.nn.functional.silu(gate) * up, inner_global)
    return (inner @ scaled(down, down_scales).T * down_global).to(x.dtype)


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
