"""Convolution module of a conformer: pointwise with GLU, depthwise over time, batch norm, SiLU, pointwise.

Batch norm uses its running statistics; padded frames are set to zero before the depthwise convolution.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convolution_module_conformer_fp32_h1024_k9",
    tier="L1",
    family="convolution",
    models=(
        Model(
            "nvidia/parakeet-tdt-0.6b-v2",
            "encoder: d_model 1024, conv_kernel_size 9, batch_norm",
            "audio", read="NVIDIA/NeMo: fast-conformer_transducer_bpe.yaml, table of sizes",
        ),
    ),
    axes={"batch": var, "frames": var, "hidden": 1024, "two_hidden": "2 * hidden", "kernel": 9},
    inputs={
        "x": activation("float32[batch, frames, hidden]", draw.normal(), EVERY_KIND),
        "real": activation("bool[batch, frames]", draw.padding_mask()),
        "expand": weight("float32[two_hidden, hidden]", draw.weight_matrix()),
        "depthwise": weight("float32[hidden, 1, kernel]", draw.weight_matrix()),
        "mean": weight("float32[hidden]", draw.normal(std=0.2)),
        "variance": weight("float32[hidden]", draw.uniform(low=0.1, high=0.5)),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "shift": weight("float32[hidden]", draw.normal(std=0.2)),
        "project": weight("float32[hidden, hidden]", draw.weight_matrix()),
    },
    outputs={"y": "float32[batch, frames, hidden]"},
    workloads=rows(
        "batch frames",
        (1, 25), (1, 125), (1, 500), (1, 1500), (2, 250), (2, 777), (4, 125), (4, 1000),
        (8, 63), (8, 500), (16, 188), (16, 1000), (32, 125), (32, 375), (64, 125), (64, 250),
    ),
    smoke=rows("batch frames hidden", (2, 12, 32), (1, 40, 96)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(x, real, expand, depthwise, mean, variance, gain, shift, project):
    value, gate = (x @ expand.T).chunk(2, dim=-1)
    gated = (value * torch.sigmoid(gate)).masked_fill(~real[..., None], 0.0).transpose(1, 2)
    mixed = functional.conv1d(
        gated, depthwise, padding=depthwise.shape[-1] // 2, groups=x.shape[-1]
    )
    scale = gain * torch.rsqrt(variance + 1e-5)
    normalised = mixed.transpose(1, 2) * scale + (shift - mean * scale)
    return functional.silu(normalised) @ project.T
