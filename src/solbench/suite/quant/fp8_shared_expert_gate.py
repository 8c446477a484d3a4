"""A shared expert in block-scaled FP8: SwiGLU between two products, and a sigmoid of the token over the result.

Inner values are quantised by groups of 128 channels; the gate has a weight of its own in 16 bits.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

INPUT = draw.fp8_blocks(rows="num_tokens", columns="hidden", block_rows=1)
FIRST = draw.fp8_blocks(rows="two_inner", columns="hidden", fan_in="hidden")
SECOND = draw.fp8_blocks(rows="hidden", columns="inner", fan_in="inner", label="down")
PROBLEM = Problem(
    name="fp8_shared_expert_gate_h2048_i512",
    tier="Quant",
    family="mlp",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8",
            "hidden_size 2048, shared_expert_intermediate_size 512, weight_block_size 128, 128",
            read="its base model: ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 512, "two_inner": "2 * inner",
        "hidden_blocks": "hidden // 128", "inner_blocks": "inner // 128",
        "two_inner_blocks": "two_inner // 128",
    },
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scales": activation("float32[num_tokens, hidden_blocks]", INPUT["scales"], ("scale", "outliers")),
        "gate_up": weight("float8_e4m3fn[two_inner, hidden]", FIRST["values"]),
        "gate_up_scales": weight("float32[two_inner_blocks, hidden_blocks]", FIRST["scales"]),
        "down": weight("float8_e4m3fn[hidden, inner]", SECOND["values"]),
        "down_scales": weight("float32[hidden_blocks, inner_blocks]", SECOND["scales"]),
        "open_weight": weight("bfloat16[hidden]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 27, 64, 128, 256, 400, 512, 1024, 2048, 4096, 6000, 8192, 16384)
    ),
    smoke=rows("num_tokens hidden inner", (5, 256, 128), (24, 384, 256)),
)  # fmt: skip

import torch


def run(x, x_scales, gate_up, gate_up_scales, down, down_scales, open_weight):
    wide = x.to(torch.float32) * x_scales.repeat_interleave(128, dim=1)
    gate, up = (wide @ expanded(gate_up, gate_up_scales).T).chunk(2, dim=-1)
    groups = (torch.nn.functional.silu(gate) * up).unflatten(-1, (-1, 128))
    scales = groups.abs().amax(dim=-1, keepdim=True) / 448.0
    inner = ((groups / scales).to(torch.float8_e4m3fn).to(torch.float32) * scales).flatten(-2)
    share = torch.sigmoid((wide * open_weight.to(torch.float32)).sum(dim=-1, keepdim=True))
    return (inner @ expanded(down, down_scales).T * share).to(torch.bfloat16)


def expanded(matrix, scales):
    """A weight with the scale of its block of 128 by 128."""
    return matrix.to(torch.float32) * scales.repeat_interleave(128, dim=0).repeat_interleave(
        128, dim=1
    )
