"""Second product of routed experts in block-scaled FP8, and the weighted sum of each token's experts.

Rows are sorted by expert; each row knows the token it belongs to and its weight.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

INPUT = draw.fp8_blocks(rows="num_rows", columns="inner", block_rows=1)
WEIGHT = draw.fp8_expert_blocks(experts="experts", rows="hidden", columns="inner")
GROUPS = draw.ragged_lengths(sequences="experts", total="num_rows", least=0, spread=0.8)
PROBLEM = Problem(
    name="fp8_experts_down_combine_e160_h5120_i1536",
    tier="Quant",
    family="moe",
    models=(
        Model(
            "zai-org/GLM-4.7-FP8",
            "n_routed_experts 160, hidden_size 5120, moe_intermediate_size 1536, "
            "num_experts_per_tok 8",
            read="ai-dynamo/aiconfigurator: zai-org--GLM-4.7-FP8",
        ),
    ),
    axes={
        "num_rows": var, "num_tokens": var, "experts": 160, "inner": 1536, "hidden": 5120,
        "inner_blocks": "inner // 128", "hidden_blocks": "hidden // 128",
    },
    inputs={
        "x": activation("float8_e4m3fn[num_rows, inner]", INPUT["values"]),
        "x_scales": activation("float32[num_rows, inner_blocks]", INPUT["scales"], ("scale", "outliers")),
        "weights": weight("float8_e4m3fn[experts, hidden, inner]", WEIGHT["values"]),
        "weight_scales": weight("float32[experts, hidden_blocks, inner_blocks]", WEIGHT["scales"]),
        "lengths": activation("int32[experts]", GROUPS["lengths"]),
        "token": activation("int64[num_rows]", draw.token_ids(vocabulary="num_tokens")),
        "share": activation("float32[num_rows]", draw.uniform(low=0.05, high=0.4)),
        "num_tokens": scalar("int32", "num_tokens"),
    },
    outputs={"output": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_rows num_tokens",
        (8, 1), (16, 2), (64, 8), (128, 16), (264, 33), (512, 64), (1024, 128), (2048, 256), (4000, 500),
        (4096, 512), (8192, 1024), (12000, 1500), (16384, 2048), (24576, 3072), (32768, 4096), (65536, 8192),
    ),
    smoke=rows("num_rows num_tokens experts inner hidden", (13, 4, 3, 128, 128), (40, 10, 5, 128, 256)),
)  # fmt: skip

import torch


def run(x, x_scales, weights, weight_scales, lengths, token, share, num_tokens):
    wide = x.to(torch.float32) * x_scales.repeat_interleave(128, dim=1)
    results = []
    for expert, inner in enumerate(wide.split(lengths.tolist())):
        scales = weight_scales[expert].repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)
        results.append(inner @ (weights[expert].to(torch.float32) * scales).T)
    result = torch.cat(results) * share[:, None]
    output = torch.zeros(num_tokens, result.shape[1], dtype=torch.float32, device=x.device)
    return output.index_add(0, token, result).to(torch.bfloat16)
