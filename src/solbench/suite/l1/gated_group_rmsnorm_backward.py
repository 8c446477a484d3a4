"""Backward of the gated RMSNorm over groups of channels at the end of a Mamba-2 mixer.

The forward multiplies by SiLU of the gate, then normalises each of eight groups; it saved one reciprocal root
mean square a group. The gain's gradient is a sum over all tokens.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    scalar,
    var,
    weight,
)

PROBLEM = Problem(
    name="gated_group_rmsnorm_backward_bf16_g8_h16384",
    tier="L1",
    family="norm",
    direction="backward",
    models=(
        Model(
            "nvidia/Nemotron-H-47B-Base-8K",
            "mamba_num_heads 256 × mamba_head_dim 64, n_groups 8, layer_norm_epsilon 1e-5",
            read="NVIDIA-NeMo/Megatron-Bridge: docs/models/llm/nemotronh.md",
        ),
    ),
    axes={"num_tokens": var, "inner": 16384, "groups": 8},
    inputs={
        "grad_y": activation("bfloat16[num_tokens, inner]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_tokens, inner]", draw.normal()),
        "gate": activation("bfloat16[num_tokens, inner]", draw.normal(label="gate")),
        "gain": weight("bfloat16[inner]", draw.norm_weight()),
        "groups": scalar("int32", "groups"),
        "rstd": activation("float32[num_tokens, groups, 1]", computed("reciprocal_rms", "x", "gate", "groups")),
    },
    outputs={
        "grad_x": "bfloat16[num_tokens, inner]",
        "grad_gate": "bfloat16[num_tokens, inner]",
        "grad_gain": "bfloat16[inner]",
    },
    gradient=Gradient("forward", ("x", "gate", "gain", "groups"), ("grad_y",), ("x", "gate", "gain")),
    workloads=rows(
        "num_tokens", *(8, 16, 31, 64, 128, 200, 256, 500, 512, 1024, 1500, 2048, 3072, 4096, 8192, 11111)
    ),
    smoke=rows("num_tokens inner groups", (6, 512, 2), (16, 2048, 8)),
)  # fmt: skip

import torch


def opened(x, gate, groups):
    gated = x.to(torch.float32) * torch.nn.functional.silu(gate.to(torch.float32))
    return gated.view(x.shape[0], groups, -1)


def reciprocal_rms(x, gate, groups):
    return torch.rsqrt(opened(x, gate, groups).pow(2).mean(dim=-1, keepdim=True) + 1e-5)


def forward(x, gate, gain, groups):
    normalised = opened(x, gate, groups) * reciprocal_rms(x, gate, groups)
    return (normalised.view(x.shape) * gain.to(torch.float32)).to(x.dtype)


def run(grad_y, x, gate, gain, groups, rstd):
    upstream, opening = grad_y.to(torch.float32), gate.to(torch.float32)
    normalised = opened(x, gate, groups) * rstd
    grad_gain = (upstream * normalised.view(x.shape)).sum(dim=0)
    scaled = (upstream * gain.to(torch.float32)).view(normalised.shape)
    along = (scaled * normalised).mean(dim=-1, keepdim=True)
    grad_gated = ((scaled - normalised * along) * rstd).view(x.shape)
    share = torch.sigmoid(opening)
    grad_x = grad_gated * opening * share
    grad_gate = grad_gated * x.to(torch.float32) * share * (1.0 + opening * (1.0 - share))
    return grad_x.to(x.dtype), grad_gate.to(gate.dtype), grad_gain.to(gain.dtype)
