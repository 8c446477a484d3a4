"""Backward of RMSNorm in bfloat16: gradients of the input and of the gain.

The forward saved one reciprocal root mean square a row, in float32. The gain's gradient is a sum over all rows.
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
    name="rmsnorm_backward_bf16_h8192",
    tier="L1",
    family="norm",
    direction="backward",
    models=(
        Model(
            "meta-llama/Llama-3.3-70B-Instruct",
            "hidden_size 8192, rms_norm_eps 1e-5",
            read="ai-dynamo/aiconfigurator: meta-llama--Llama-3.3-70B-Instruct",
        ),
    ),
    axes={"num_tokens": var, "hidden": 8192},
    inputs={
        "grad_y": activation("bfloat16[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(std=2.0)),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "rstd": activation("float32[num_tokens, 1]", computed("reciprocal_rms", "x")),
    },
    outputs={"grad_x": "bfloat16[num_tokens, hidden]", "grad_gain": "bfloat16[hidden]"},
    gradient=Gradient("forward", ("x", "gain"), ("grad_y",), ("x", "gain")),
    workloads=rows(
        "num_tokens",
        *(16, 64, 128, 200, 512, 1000, 1024, 2048, 3333, 4096, 6000, 8192, 10000, 16384, 24576, 32768),
    ),
    smoke=rows("num_tokens hidden", (6, 512), (33, 2048)),
)  # fmt: skip

import torch


def reciprocal_rms(x):
    return torch.rsqrt(x.to(torch.float32).pow(2).mean(dim=-1, keepdim=True) + 1e-5)


def forward(x, gain):
    return (x.to(torch.float32) * reciprocal_rms(x) * gain.to(torch.float32)).to(x.dtype)


def run(grad_y, x, gain, rstd):
    normalised = x.to(torch.float32) * rstd
    upstream = grad_y.to(torch.float32)
    scaled = upstream * gain.to(torch.float32)
    along = (scaled * normalised).mean(dim=-1, keepdim=True)
    grad_x = (scaled - normalised * along) * rstd
    grad_gain = (upstream * normalised).sum(dim=0)
    return grad_x.to(x.dtype), grad_gain.to(gain.dtype)
