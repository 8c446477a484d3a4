"""MLP block with norms before and after it: norm, gated products with tanh GELU, norm, residual."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="mlp_block_sandwich_bf16_h5376",
    tier="L2",
    family="mlp_block",
    models=(
        Model(
            "google/gemma-3-27b-it",
            "hidden_size 5376, intermediate_size 21504, rms_norm_eps 1e-6",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
    ),
    axes={"num_tokens": var, "hidden": 5376, "inner": 21504},
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "before": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
        "gate": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "up": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "after": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 33, 64, 128, 200, 256, 512, 777, 1024, 2048, 3000, 4096, 8192)
    ),
    smoke=rows("num_tokens hidden inner", (5, 96, 192), (20, 168, 336)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(x, before, gate, up, down, after):
    normalised = rmsnorm(x, before).to(x.dtype)
    opening = functional.gelu((normalised @ gate.T).to(torch.float32), approximate="tanh")
    inner = (opening * (normalised @ up.T).to(torch.float32)).to(x.dtype)
    return (x.to(torch.float32) + rmsnorm(inner @ down.T, after)).to(x.dtype)


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return wide * scale * (1.0 + gain.to(torch.float32))
