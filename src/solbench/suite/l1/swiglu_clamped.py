"""Clamped SwiGLU of gpt-oss: gate and up interleaved, both limited to 7, a steeper sigmoid, one added to up.

The gate has an upper limit only. Each expert's tokens stand one after another, with a bias per expert.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

GROUPS = draw.ragged_lengths(sequences="experts", total="num_tokens", least=0, spread=1.0)
PROBLEM = Problem(
    name="swiglu_clamped_bf16_i2880",
    tier="L1",
    family="activation",
    models=(
        Model(
            "openai/gpt-oss-120b",
            "intermediate_size 2880, swiglu_limit 7.0, num_local_experts 128",
            read="huggingface/transformers: configuration_gpt_oss.py",
        ),
        Model(
            "openai/gpt-oss-20b",
            "intermediate_size 2880, swiglu_limit 7.0, num_local_experts 32",
            read="EchoCog/gpt-oss-20b: docs/gpt-oss-20b-architecture.md",
        ),
    ),
    axes={"num_tokens": var, "experts": 128, "inner": 2880, "two_inner": "2 * inner"},
    inputs={
        "gate_up": activation("bfloat16[num_tokens, two_inner]", draw.normal(std=4.0), EVERY_KIND),
        "bias": weight("bfloat16[experts, two_inner]", draw.normal(std=0.5)),
        "lengths": activation("int32[experts]", GROUPS["lengths"]),
        "limit": scalar("float32", 7.0),
    },
    outputs={"y": "bfloat16[num_tokens, inner]"},
    workloads=rows(
        "num_tokens experts",
        (4, 32), (16, 128), (64, 32), (100, 128), (128, 128), (256, 32), (512, 128), (777, 32),
        (1024, 128), (2048, 128), (4096, 32), (4096, 128), (8192, 128), (10000, 32), (16384, 128), (32768, 128),
    ),
    smoke=rows("num_tokens experts inner", (12, 4, 96), (40, 8, 360)),
)  # fmt: skip

import torch


def run(gate_up, bias, lengths, limit):
    place = torch.arange(gate_up.shape[0], device=gate_up.device)
    expert = (place[:, None] >= lengths.cumsum(0)).sum(
        dim=1
    )  # as many experts end before the token
    biased = gate_up.to(torch.float32) + bias[expert].to(torch.float32)
    gate, up = biased[:, 0::2], biased[:, 1::2]
    gate, up = gate.clamp(max=limit), up.clamp(min=-limit, max=limit)
    return ((up + 1.0) * gate * torch.sigmoid(1.702 * gate)).to(gate_up.dtype)
