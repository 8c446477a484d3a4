"""Second product of routed experts with NVFP4 weights, and the weighted sum of each token's experts.

Rows are sorted by expert; every expert has a global scale of its own. Each row knows its token and its share.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

WEIGHT = draw.nvfp4_expert_blocks(experts="experts", rows="hidden", columns="inner")
GROUPS = draw.ragged_lengths(sequences="experts", total="num_rows", least=0, spread=0.8)
PROBLEM = Problem(
    name="nvfp4_experts_down_combine_e256_h7168_i2048",
    tier="Quant",
    family="moe",
    models=(
        Model(
            "nvidia/DeepSeek-R1-FP4",
            "n_routed_experts 256, num_experts_per_tok 8, hidden_size 7168, "
            "moe_intermediate_size 2048",
            read="its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_rows": var, "num_tokens": var, "experts": 256, "inner": 2048, "hidden": 7168,
        "packed": "inner // 2", "blocks": "inner // 16",
    },
    inputs={
        "x": activation("bfloat16[num_rows, inner]", draw.normal(), EVERY_KIND),
        "weights": weight("float4_e2m1fn_x2[experts, hidden, packed]", WEIGHT["values"]),
        "scales": weight("float8_e4m3fn[experts, hidden, blocks]", WEIGHT["scales"]),
        "global_scales": weight("float32[experts]", WEIGHT["global_scale"]),
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
    smoke=rows("num_rows num_tokens experts inner hidden", (13, 4, 3, 96, 128), (40, 10, 5, 160, 192)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, weights, scales, global_scales, lengths, token, share, num_tokens):
    results = []
    for expert, inner in enumerate(x.to(torch.float32).split(lengths.tolist())):
        matrix = scaled(weights[expert], scales[expert]) * global_scales[expert]
        results.append(inner @ matrix.T)
    result = torch.cat(results) * share[:, None]
    output = torch.zeros(num_tokens, result.shape[1], dtype=torch.float32, device=x.device)
    return output.index_add(0, token, result).to(torch.bfloat16)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
