"""Gate and up projections of routed experts in NVFP4 with SwiGLU: bfloat16 rows sorted by expert.

Every expert has a global scale of its own beside its block scales.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

WEIGHT = draw.nvfp4_expert_blocks(experts="experts", rows="two_inner", columns="hidden")
GROUPS = draw.ragged_lengths(sequences="experts", total="num_rows", least=0, spread=0.8)
PROBLEM = Problem(
    name="nvfp4_experts_e128_h2048_i768",
    tier="Quant",
    family="moe",
    models=(
        Model(
            "nvidia/Qwen3-30B-A3B-FP4",
            "num_experts 128, hidden_size 2048, moe_intermediate_size 768",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_rows": var, "experts": 128, "hidden": 2048, "inner": 768, "two_inner": "2 * inner",
        "packed": "hidden // 2", "blocks": "hidden // 16",
    },
    inputs={
        "x": activation("bfloat16[num_rows, hidden]", draw.normal(), EVERY_KIND),
        "weights": weight("float4_e2m1fn_x2[experts, two_inner, packed]", WEIGHT["values"]),
        "scales": weight("float8_e4m3fn[experts, two_inner, blocks]", WEIGHT["scales"]),
        "global_scales": weight("float32[experts]", WEIGHT["global_scale"]),
        "lengths": activation("int32[experts]", GROUPS["lengths"]),
    },
    outputs={"y": "bfloat16[num_rows, inner]"},
    workloads=rows(
        "num_rows", *(8, 32, 64, 128, 200, 256, 512, 1024, 2048, 3000, 4096, 8192, 10000, 16384, 32768, 65536)
    ),
    smoke=rows("num_rows experts hidden inner", (13, 4, 64, 48), (40, 5, 128, 96)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, weights, scales, global_scales, lengths):
    outputs = []
    for expert, tokens in enumerate(x.to(torch.float32).split(lengths.tolist())):
        matrix = scaled(weights[expert], scales[expert]) * global_scales[expert]
        gate, up = (tokens @ matrix.T).chunk(2, dim=-1)
        outputs.append(torch.nn.functional.silu(gate) * up)
    return torch.cat(outputs).to(x.dtype)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
