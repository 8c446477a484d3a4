"""Gate and up projections of routed experts in block-scaled FP8: tokens sorted by expert, groups of any length.

An expert may have no token at all.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

INPUT = draw.fp8_blocks(rows="num_tokens", columns="hidden", block_rows=1)
WEIGHT = draw.fp8_expert_blocks(experts="experts", rows="width", columns="hidden")
GROUPS = draw.ragged_lengths(sequences="experts", total="num_tokens", least=0, spread=1.0)
PROBLEM = Problem(
    name="fp8_experts_blocks_e128_h2048_o1536",
    tier="Quant",
    family="moe",
    models=(
        Model(
            "Qwen/Qwen3-30B-A3B-FP8",
            "num_experts 128, hidden_size 2048, 2 × moe_intermediate_size 768, "
            "weight_block_size 128, 128",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "experts": 128, "hidden": 2048, "width": 1536,
        "hidden_blocks": "hidden // 128", "width_blocks": "width // 128",
    },
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scales": activation("float32[num_tokens, hidden_blocks]", INPUT["scales"], ("scale", "outliers")),
        "weights": weight("float8_e4m3fn[experts, width, hidden]", WEIGHT["values"]),
        "weight_scales": weight("float32[experts, width_blocks, hidden_blocks]", WEIGHT["scales"]),
        "lengths": activation("int32[experts]", GROUPS["lengths"]),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(8, 32, 64, 128, 200, 256, 512, 1024, 2048, 3000, 4096, 8192, 10000, 16384, 32768, 65536)
    ),
    smoke=rows("num_tokens experts hidden width", (13, 4, 128, 128), (40, 5, 256, 128)),
)  # fmt: skip

import torch


def run(x, x_scales, weights, weight_scales, lengths):
    wide = x.to(torch.float32) * x_scales.repeat_interleave(128, dim=1)
    outputs = []
    for expert, tokens in enumerate(wide.split(lengths.tolist())):
        scales = weight_scales[expert].repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)
        outputs.append(tokens @ (weights[expert].to(torch.float32) * scales).T)
    return torch.cat(outputs).to(torch.bfloat16)
