"""Output projection of attention with FP8 rows, the residual addition, and the next block's RMSNorm.

The attention's result is quantised token by token here. Both the new residual and its norm leave in bfloat16.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

WEIGHT = draw.fp8_rows(rows="hidden", columns="width", fan_in="width")
PROBLEM = Problem(
    name="fp8_output_residual_norm_h8192",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic",
            "hidden_size 8192, num_attention_heads 64 × head_dim 128, rms_norm_eps 1e-5, "
            "dynamic per-token FP8",
            read="its base model: ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={"num_tokens": var, "width": 8192, "hidden": 8192},
    inputs={
        "attended": activation("bfloat16[num_tokens, width]", draw.normal(), EVERY_KIND),
        "residual": activation("bfloat16[num_tokens, hidden]", draw.residual_stream(std=2.0), EVERY_KIND),
        "weight": weight("float8_e4m3fn[hidden, width]", WEIGHT["values"]),
        "weight_scales": weight("float32[hidden, 1]", WEIGHT["scales"]),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
    },
    outputs={"summed": "bfloat16[num_tokens, hidden]", "normalised": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 29, 64, 128, 256, 500, 512, 1024, 1500, 2048, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens width hidden", (5, 256, 192), (24, 512, 384)),
)  # fmt: skip

import torch


def run(attended, residual, weight, weight_scales, gain):
    wide = attended.to(torch.float32)
    scales = wide.abs().amax(dim=-1, keepdim=True) / 448.0
    codes = (wide / scales).to(torch.float8_e4m3fn)
    projected = codes.to(torch.float32) @ weight.to(torch.float32).T * scales * weight_scales.T
    summed = residual.to(torch.float32) + projected
    rms = torch.rsqrt(summed.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    normalised = summed * rms * gain.to(torch.float32)
    return summed.to(residual.dtype), normalised.to(residual.dtype)
