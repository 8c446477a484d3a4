"""A linear layer of a diffusion transformer as 4-bit weights plus a low-rank part that takes up the outliers.

Tokens are first divided channel by channel. NVFP4 tokens meet the NVFP4 weight, bfloat16 ones the thin factors.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

WEIGHT = draw.nvfp4_blocks(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="nvfp4_low_rank_linear_h3072_o9216_r32",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nunchaku-tech/nunchaku-flux.1-dev",
            "FLUX.1 dev: num_attention_heads 24 × attention_head_dim 128, to q, k and v; "
            "NVFP4, rank 32",
            "diffusion", read="its base model: black-forest-labs/flux: src/flux/util.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 3072, "width": 9216, "rank": 32,
        "packed": "hidden // 2", "blocks": "hidden // 16",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.residual_stream(), ("sign", "sparsity")),
        "smooth": weight("bfloat16[hidden]", draw.uniform(low=0.5, high=2.0)),
        "weight": weight("float4_e2m1fn_x2[width, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[width, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
        "down": weight("bfloat16[rank, hidden]", draw.weight_matrix()),
        "up": weight("bfloat16[width, rank]", draw.weight_matrix()),
        "bias": weight("bfloat16[width]", draw.normal(std=0.1)),
        "global_scale": scalar("float32", 0.0313),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens width",
        (512, 9216), (1024, 9216), (1024, 3072), (1536, 9216), (2048, 3072), (2304, 9216), (3072, 12288),
        (3600, 9216), (4096, 3072), (4096, 9216), (4096, 12288), (4608, 9216), (4608, 12288), (6912, 9216),
        (8192, 3072), (9216, 9216),
    ),
    smoke=rows("num_tokens hidden width rank", (6, 256, 96, 16), (24, 384, 160, 16)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, smooth, weight, weight_scales, weight_global_scale, down, up, bias, global_scale):
    wide = x.to(torch.float32) / smooth.to(torch.float32)
    coarse = to_nvfp4(wide, global_scale) @ scaled(weight, weight_scales).T * weight_global_scale
    thin = (x.to(torch.float32) @ down.to(torch.float32).T).to(x.dtype)
    fine = thin.to(torch.float32) @ up.to(torch.float32).T
    return (coarse + fine + bias.to(torch.float32)).to(x.dtype)


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
