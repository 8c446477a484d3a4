"""RMSNorm, quantisation of each token to FP8, and the projection to queries, keys and values, in one pass.

The weight has a scale for each output channel; the norm's result is never stored in 16 bits.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

WEIGHT = draw.fp8_rows(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="fp8_norm_linear_rows_h4096_o6144",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic",
            "hidden_size 4096, (32 + 2 × 8) heads × head_dim 128, rms_norm_eps 1e-5, dynamic "
            "per-token FP8",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"num_tokens": var, "hidden": 4096, "width": 6144},
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(std=2.0), EVERY_KIND),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "weight": weight("float8_e4m3fn[width, hidden]", WEIGHT["values"]),
        "weight_scales": weight("float32[width, 1]", WEIGHT["scales"]),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 24, 64, 100, 128, 256, 512, 900, 1024, 2048, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden width", (5, 256, 160), (40, 512, 320)),
)  # fmt: skip

import torch


def run(x, gain, weight, weight_scales):
    wide = x.to(torch.float32)
    rms = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    normalised = wide * rms * gain.to(torch.float32)
    scales = normalised.abs().amax(dim=-1, keepdim=True) / 448.0
    codes = (normalised / scales).to(torch.float8_e4m3fn)
    product = codes.to(torch.float32) @ weight.to(torch.float32).T
    return (product * scales * weight_scales.T).to(torch.bfloat16)
