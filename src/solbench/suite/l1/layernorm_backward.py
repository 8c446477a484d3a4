"""Backward of LayerNorm in float32: gradients of the input, the gain and the bias.

Mean and reciprocal deviation were saved by the forward pass. Gain and bias are shared by all rows, so their
gradients are sums over rows.
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

SAVED = computed("statistics", "x")
PROBLEM = Problem(
    name="layernorm_backward_fp32_h1024",
    tier="L1",
    family="norm",
    direction="backward",
    models=(
        Model(
            "nvidia/parakeet-tdt-0.6b-v2",
            "encoder d_model 1024",
            "audio", read="NVIDIA/NeMo: fast-conformer_transducer_bpe.yaml, table of sizes",
        ),
        Model(
            "nvidia/canary-1b",
            "encoder d_model 1024",
            "audio", read="NVIDIA/NeMo: fast-conformer_transducer_bpe.yaml, table of sizes",
        ),
    ),
    axes={"num_rows": var, "hidden": 1024},
    inputs={
        "grad_y": activation("float32[num_rows, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[num_rows, hidden]", draw.normal(mean=0.3, std=2.0)),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "mean": activation("float32[num_rows, 1]", SAVED[0]),
        "rstd": activation("float32[num_rows, 1]", SAVED[1]),
    },
    outputs={
        "grad_x": "float32[num_rows, hidden]",
        "grad_gain": "float32[hidden]",
        "grad_bias": "float32[hidden]",
    },
    gradient=Gradient("forward", ("x", "gain", "bias"), ("grad_y",), ("x", "gain", "bias")),
    workloads=rows(
        "num_rows",
        *(16, 50, 128, 256, 400, 777, 1024, 2048, 3000, 4096, 6000, 8192, 12345, 16384, 32768, 65536),
    ),
    smoke=rows("num_rows hidden", (6, 256), (40, 1024)),
)  # fmt: skip

import torch


def statistics(x):
    mean = x.mean(dim=-1, keepdim=True)
    return mean, torch.rsqrt((x - mean).pow(2).mean(dim=-1, keepdim=True) + 1e-5)


def forward(x, gain, bias):
    mean, rstd = statistics(x)
    return (x - mean) * rstd * gain + bias


def run(grad_y, x, gain, mean, rstd):
    normalised = (x - mean) * rstd
    scaled = grad_y * gain
    along = (scaled * normalised).mean(dim=-1, keepdim=True)
    grad_x = (scaled - scaled.mean(dim=-1, keepdim=True) - normalised * along) * rstd
    return grad_x, (grad_y * normalised).sum(dim=0), grad_y.sum(dim=0)
