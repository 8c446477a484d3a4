"""RMSNorm, quantisation to NVFP4 with a known global scale, and the projection to queries, keys and values.

Each 16 channels of a token get a scale in E4M3 (largest magnitude / 6), then the nearest values of E2M1.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

WEIGHT = draw.nvfp4_blocks(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="nvfp4_norm_linear_h4096_o6144",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/Llama-3.1-8B-Instruct-FP4",
            "hidden_size 4096, (32 + 2 × 8) heads × head_dim 128, rms_norm_eps 1e-5, NVFP4",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 4096, "width": 6144, "packed": "hidden // 2", "blocks": "hidden // 16",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(std=2.0), ("scale", "sign", "sparsity")),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "weight": weight("float4_e2m1fn_x2[width, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[width, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
        "global_scale": scalar("float32", 0.002),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 29, 64, 128, 256, 333, 512, 1024, 2048, 2500, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden width", (5, 256, 96), (24, 512, 160)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, gain, weight, weight_scales, weight_global_scale, global_scale):
    wide = x.to(torch.float32)
    rms = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    rounded = to_nvfp4(wide * rms * gain.to(torch.float32), global_scale)
    pairs = weight.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)  # the low half comes first
    values = torch.tensor(VALUES, device=weight.device)[codes.long()]
    matrix = values * weight_scales.to(torch.float32).repeat_interleave(16, dim=-1)
    return (rounded @ matrix.T * weight_global_scale).to(torch.bfloat16)


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
