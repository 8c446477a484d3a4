"""Backward of the short causal convolution of a Mamba-2 mixer with SiLU: gradients of input, kernel and bias.

Each channel has four taps and starts from zeros. What the SiLU took is computed again, not kept.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="ssm_causal_convolution_backward_bf16_c5376_k4",
    tier="L1",
    family="ssm",
    direction="backward",
    models=(
        Model(
            "state-spaces/mamba2-2.7b",
            "d_model 2560: 2 × 2560 + 2 × d_state 128 channels, d_conv 4",
            read="state-spaces/mamba: README.md, table of sizes",
        ),
    ),
    axes={"batch": var, "seq_len": var, "channels": 5376, "taps": 4},
    inputs={
        "grad_y": activation("bfloat16[batch, seq_len, channels]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[batch, seq_len, channels]", draw.normal(), EVERY_KIND),
        "kernel": weight("bfloat16[channels, taps]", draw.weight_matrix()),
        "bias": weight("bfloat16[channels]", draw.normal(std=0.3)),
    },
    outputs={
        "grad_x": "bfloat16[batch, seq_len, channels]",
        "grad_kernel": "bfloat16[channels, taps]",
        "grad_bias": "bfloat16[channels]",
    },
    gradient=Gradient("forward", ("x", "kernel", "bias"), ("grad_y",), ("x", "kernel", "bias")),
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 500), (1, 1000), (1, 2048), (1, 4096), (1, 16384), (2, 512), (2, 3000),
        (4, 1024), (4, 2048), (4, 3333), (8, 256), (8, 4096), (16, 1024), (32, 500), (64, 256),
    ),
    smoke=rows("batch seq_len channels", (2, 9, 32), (3, 30, 96)),
)  # fmt: skip

import torch


def convolved(x, kernel, bias):
    seq_len, taps = x.shape[1], kernel.shape[1]
    longer = torch.nn.functional.pad(x.to(torch.float32), (0, 0, taps - 1, 0))
    weights = kernel.to(torch.float32)
    products = (longer[:, tap : tap + seq_len] * weights[:, tap] for tap in range(taps))
    return bias.to(torch.float32) + sum(products)


def forward(x, kernel, bias):
    return torch.nn.functional.silu(convolved(x, kernel, bias)).to(x.dtype)


def run(grad_y, x, kernel, bias):
    seq_len, taps = x.shape[1], kernel.shape[1]
    before = convolved(x, kernel, bias)
    share = torch.sigmoid(before)
    upstream = grad_y.to(torch.float32) * share * (1.0 + before * (1.0 - share))
    past = torch.nn.functional.pad(x.to(torch.float32), (0, 0, taps - 1, 0))
    future = torch.nn.functional.pad(upstream, (0, 0, 0, taps - 1))
    grad_x = sum(
        future[:, tap : tap + seq_len] * kernel.to(torch.float32)[:, taps - 1 - tap]
        for tap in range(taps)
    )
    grad_kernel = torch.stack(
        [(upstream * past[:, tap : tap + seq_len]).sum(dim=(0, 1)) for tap in range(taps)], dim=-1
    )
    grad_bias = upstream.sum(dim=(0, 1))
    return grad_x.to(x.dtype), grad_kernel.to(kernel.dtype), grad_bias.to(bias.dtype)
