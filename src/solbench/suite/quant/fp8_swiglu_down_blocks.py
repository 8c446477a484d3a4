"""SwiGLU, quantisation of its result by groups of 128 channels, and the down projection in block-scaled FP8.

Rounding happens between the activation and the product, so a fused kernel never stores the inner values in
16 bits.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

WEIGHT = draw.fp8_blocks(rows="hidden", columns="inner", fan_in="inner")
PROBLEM = Problem(
    name="fp8_swiglu_down_blocks_i25600_h5120",
    tier="Quant",
    family="mlp",
    models=(
        Model(
            "Qwen/Qwen3-32B-FP8",
            "intermediate_size 25600, hidden_size 5120, weight_block_size 128, 128",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "inner": 25600, "two_inner": "2 * inner", "hidden": 5120,
        "inner_blocks": "inner // 128", "hidden_blocks": "hidden // 128",
    },
    inputs={
        "gate_up": activation("bfloat16[num_tokens, two_inner]", draw.normal(std=1.5), EVERY_KIND),
        "weight": weight("float8_e4m3fn[hidden, inner]", WEIGHT["values"]),
        "weight_scales": weight("float32[hidden_blocks, inner_blocks]", WEIGHT["scales"]),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 50, 64, 100, 128, 256, 512, 1000, 1024, 2048, 3000, 4096, 8192)
    ),
    smoke=rows("num_tokens inner hidden", (5, 256, 128), (20, 384, 256)),
)  # fmt: skip

import torch


def run(gate_up, weight, weight_scales):
    gate, up = gate_up.to(torch.float32).chunk(2, dim=-1)
    groups = (torch.nn.functional.silu(gate) * up).unflatten(-1, (-1, 128))
    scales = groups.abs().amax(dim=-1, keepdim=True) / 448.0
    codes = (groups / scales).to(torch.float8_e4m3fn)
    inner = (codes.to(torch.float32) * scales).flatten(-2)
    wide = weight_scales.repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)
    return (inner @ (weight.to(torch.float32) * wide).T).to(torch.bfloat16)
