"""Output projection of attention in NVFP4, the residual addition, and the RMSNorm before the MLP.

The attention's result is quantised here, with a global scale found at calibration.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

WEIGHT = draw.nvfp4_blocks(rows="hidden", columns="width", fan_in="width")
PROBLEM = Problem(
    name="nvfp4_output_residual_norm_h16384",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/Llama-3.1-405B-Instruct-FP4",
            "hidden_size 16384, num_attention_heads 128 × head_dim 128, rms_norm_eps 1e-5, "
            "NVFP4",
            read="its base model: meta-llama/llama-models: models/sku_list.py",
        ),
    ),
    axes={
        "num_tokens": var, "width": 16384, "hidden": 16384, "packed": "width // 2", "blocks": "width // 16",
    },
    inputs={
        "attended": activation("bfloat16[num_tokens, width]", draw.normal(), ("sign", "sparsity")),
        "residual": activation("bfloat16[num_tokens, hidden]", draw.residual_stream(std=2.0), EVERY_KIND),
        "weight": weight("float4_e2m1fn_x2[hidden, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[hidden, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "global_scale": scalar("float32", 0.00213),
    },
    outputs={"summed": "bfloat16[num_tokens, hidden]", "normalised": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 23, 64, 128, 200, 256, 512, 900, 1024, 2048, 3000, 4096, 8192)
    ),
    smoke=rows("num_tokens width hidden", (5, 256, 192), (24, 512, 384)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(attended, residual, weight, weight_scales, weight_global_scale, gain, global_scale):
    rounded = to_nvfp4(attended.to(torch.float32), global_scale)
    projected = rounded @ scaled(weight, weight_scales).T * weight_global_scale
    summed = residual.to(torch.float32) + projected
    rms = torch.rsqrt(summed.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    normalised = summed * rms * gain.to(torch.float32)
    return summed.to(residual.dtype), normalised.to(residual.dtype)


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
