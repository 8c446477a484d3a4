"""Output of a Mamba-2 mixer: SiLU gate, RMSNorm over groups of channels, and a projection with an NVFP4 weight.

The gate comes before the norm, and each group has a statistic of its own.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

WEIGHT = draw.nvfp4_blocks(rows="hidden", columns="inner", fan_in="inner")
PROBLEM = Problem(
    name="nvfp4_mamba_output_i10240_h4480",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2-NVFP4",
            "hidden_size 4480, mamba_num_heads 128 × mamba_head_dim 80, n_groups 8, "
            "layer_norm_epsilon 1e-5",
            read="its base model: NVIDIA-NeMo/Megatron-Bridge: docs/models/llm/nemotronh.md",
        ),
    ),
    axes={
        "num_tokens": var, "groups": 8, "inner": 10240, "hidden": 4480,
        "packed": "inner // 2", "blocks": "inner // 16",
    },
    inputs={
        "y": activation("bfloat16[num_tokens, inner]", draw.normal(), EVERY_KIND),
        "gate": activation("bfloat16[num_tokens, inner]", draw.normal(std=1.5), EVERY_KIND),
        "gain": weight("bfloat16[inner]", draw.norm_weight()),
        "weight": weight("float4_e2m1fn_x2[hidden, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[hidden, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
        "groups": scalar("int32", "groups"),
    },
    outputs={"output": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 31, 64, 128, 256, 300, 512, 1024, 2048, 3000, 4096, 8192)
    ),
    smoke=rows("num_tokens groups inner hidden", (5, 2, 256, 96), (24, 4, 512, 160)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(y, gate, gain, weight, weight_scales, weight_global_scale, groups):
    opened = y.to(torch.float32) * torch.nn.functional.silu(gate.to(torch.float32))
    grouped = opened.unflatten(-1, (groups, -1))
    rms = torch.rsqrt(grouped.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    normalised = ((grouped * rms).flatten(-2) * gain.to(torch.float32)).to(y.dtype)
    product = normalised.to(torch.float32) @ scaled(weight, weight_scales).T
    return (product * weight_global_scale).to(y.dtype)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
