"""Half-step feed-forward block of a conformer in float32: norm, SiLU MLP, half of it added to the input."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="conformer_feed_forward_fp32_h1024",
    tier="L2",
    family="mlp_block",
    models=(
        Model(
            "nvidia/canary-1b-flash",
            "encoder: d_model 1024, ff_expansion_factor 4",
            "audio",
            read="NVIDIA-NeMo/NeMo: fast-conformer_aed.yaml, table of the Canary family",
        ),
    ),
    axes={"batch": var, "frames": var, "hidden": 1024, "inner": 4096},
    inputs={
        "x": activation("float32[batch, frames, hidden]", draw.normal(), EVERY_KIND),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "shift": weight("float32[hidden]", draw.normal(std=0.1)),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_bias": weight("float32[inner]", draw.normal(std=0.2)),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "down_bias": weight("float32[hidden]", draw.normal(std=0.2)),
    },
    outputs={"y": "float32[batch, frames, hidden]"},
    workloads=rows(
        "batch frames",
        (1, 13), (1, 63), (1, 125), (1, 500), (1, 1250), (2, 188), (2, 750), (4, 100),
        (4, 375), (8, 125), (8, 777), (16, 63), (16, 500), (32, 125), (32, 375), (64, 188),
    ),
    smoke=rows("batch frames hidden inner", (2, 7, 64, 128), (1, 30, 96, 384)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(x, gain, shift, up_weight, up_bias, down_weight, down_bias):
    centred = x - x.mean(dim=-1, keepdim=True)
    normalised = centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    inner = functional.silu((normalised * gain + shift) @ up_weight.T + up_bias)
    return x + 0.5 * (inner @ down_weight.T + down_bias)
