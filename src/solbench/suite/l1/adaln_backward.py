"""Backward of adaptive LayerNorm in bfloat16: gradients of the tokens, of the shift and of the scale.

Shift and scale belong to an image, so their gradients are sums over its tokens; the norm has no gain.
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
)

SAVED = computed("statistics", "x")
PROBLEM = Problem(
    name="adaln_backward_bf16_h2432",
    tier="L1",
    family="norm",
    direction="backward",
    models=(
        Model(
            "stabilityai/stable-diffusion-3.5-large",
            "num_attention_heads 38 × attention_head_dim 64",
            "diffusion",
            read="frankjoshua/stable-diffusion-3.5-large: transformer/config.json, a copy",
        ),
        Model(
            "stabilityai/stable-diffusion-3.5-large-turbo",
            "num_attention_heads 38 × attention_head_dim 64",
            "diffusion",
            read="its base model: frankjoshua/stable-diffusion-3.5-large: transformer/config.json",
        ),
    ),
    axes={"batch": var, "tokens": var, "hidden": 2432},
    inputs={
        "grad_y": activation("bfloat16[batch, tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[batch, tokens, hidden]", draw.normal(mean=0.2, std=1.5)),
        "scale": activation("bfloat16[batch, hidden]", draw.normal(std=0.3)),
        "mean": activation("float32[batch, tokens, 1]", SAVED[0]),
        "rstd": activation("float32[batch, tokens, 1]", SAVED[1]),
    },
    outputs={
        "grad_x": "bfloat16[batch, tokens, hidden]",
        "grad_shift": "bfloat16[batch, hidden]",
        "grad_scale": "bfloat16[batch, hidden]",
    },
    gradient=Gradient("forward", ("x", "shift", "scale"), ("grad_y",), ("x", "shift", "scale")),
    workloads=rows(
        "batch tokens",
        (1, 154), (1, 1024), (1, 4096), (1, 4250), (2, 589), (2, 1024), (2, 4096), (3, 2304),
        (4, 1024), (4, 4096), (5, 1111), (8, 256), (8, 4096), (16, 1024), (16, 2025), (32, 1024),
    ),
    smoke=rows("batch tokens hidden", (2, 6, 304), (3, 20, 608)),
)  # fmt: skip

import torch


def statistics(x):
    wide = x.to(torch.float32)
    mean = wide.mean(dim=-1, keepdim=True)
    return mean, torch.rsqrt((wide - mean).pow(2).mean(dim=-1, keepdim=True) + 1e-6)


def forward(x, shift, scale):
    mean, rstd = statistics(x)
    normalised = (x.to(torch.float32) - mean) * rstd
    return normalised * (1.0 + scale.to(torch.float32)[:, None]) + shift.to(torch.float32)[:, None]


def run(grad_y, x, scale, mean, rstd):
    normalised = (x.to(torch.float32) - mean) * rstd
    upstream = grad_y.to(torch.float32)
    scaled = upstream * (1.0 + scale.to(torch.float32)[:, None])
    along = (scaled * normalised).mean(dim=-1, keepdim=True)
    grad_x = (scaled - scaled.mean(dim=-1, keepdim=True) - normalised * along) * rstd
    grad_shift, grad_scale = upstream.sum(dim=1), (upstream * normalised).sum(dim=1)
    return grad_x.to(x.dtype), grad_shift.to(scale.dtype), grad_scale.to(scale.dtype)
