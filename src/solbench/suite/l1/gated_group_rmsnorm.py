"""Gate, then RMSNorm over groups of channels: the norm at the end of a Mamba-2 mixer.

The state-space output is multiplied by SiLU of the gate first; each of eight groups has its own statistic, so
that a tensor-parallel split needs no exchange.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="gated_group_rmsnorm_bf16_g8_h16384",
    tier="L1",
    family="norm",
    models=(
        Model(
            "nvidia/Nemotron-H-47B-Base-8K",
            "mamba_num_heads 256 × mamba_head_dim 64, n_groups 8, layer_norm_epsilon 1e-5",
        ),
    ),
    axes={"num_tokens": var, "inner": 16384, "groups": 8},
    inputs={
        "x": activation("bfloat16[num_tokens, inner]", draw.residual_stream()),
        "gate": activation("bfloat16[num_tokens, inner]", draw.normal()),
        "gain": weight("bfloat16[inner]", draw.norm_weight()),
        "eps": scalar("float32", 1e-5),
        "groups": scalar("int32", "groups"),
    },
    outputs={"y": "bfloat16[num_tokens, inner]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 31, 64, 128, 256, 500, 512, 1024, 2048, 3072, 4096, 8192, 11111)
    ),
    smoke=rows("num_tokens inner groups", (6, 512, 2), (16, 2048, 8)),
)  # fmt: skip

import torch


def run(x, gate, gain, eps, groups):
    opening = gate.to(torch.float32)
    gated = x.to(torch.float32) * (opening * torch.sigmoid(opening))
    grouped = gated.view(x.shape[0], groups, -1)
    normalised = grouped * torch.rsqrt(grouped.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (normalised.view(x.shape) * gain.to(torch.float32)).to(x.dtype)
