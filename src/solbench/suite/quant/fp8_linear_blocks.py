"""A linear layer in FP8 with fine scales: for each 128 channels of a token, for each 128 × 128 of the weight.

Both change along k, so that each step of 128 is scaled before it is added.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

INPUT = draw.fp8_blocks(rows="num_tokens", columns="hidden", block_rows=1)
WEIGHT = draw.fp8_blocks(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="fp8_linear_blocks_h16384_o7168",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "o_proj: num_attention_heads 128 × v_head_dim 128 → hidden_size 7168, "
            "weight_block_size 128, 128",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
        Model(
            "deepseek-ai/DeepSeek-V3.1",
            "o_proj as DeepSeek-V3, weight_block_size 128, 128",
            read="DeepSeek-V3, its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 16384, "width": 7168,
        "hidden_blocks": "hidden // 128", "width_blocks": "width // 128",
    },
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scales": activation("float32[num_tokens, hidden_blocks]", INPUT["scales"], ("scale", "outliers")),
        "weight": weight("float8_e4m3fn[width, hidden]", WEIGHT["values"]),
        "weight_scales": weight("float32[width_blocks, hidden_blocks]", WEIGHT["scales"]),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens hidden",
        (1, 16384), (4, 2048), (8, 16384), (16, 2048), (33, 16384), (64, 16384), (128, 2048), (128, 16384),
        (256, 4096), (512, 16384), (777, 2048), (1024, 16384), (2048, 16384), (4096, 2048), (4096, 16384),
        (8192, 4096),
    ),
    smoke=rows("num_tokens hidden width", (5, 256, 128), (20, 384, 256)),
)  # fmt: skip

import torch


def run(x, x_scales, weight, weight_scales):
    wide = x.to(torch.float32) * x_scales.repeat_interleave(128, dim=1)
    scales = weight_scales.repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)
    return (wide @ (weight.to(torch.float32) * scales).T).to(torch.bfloat16)
