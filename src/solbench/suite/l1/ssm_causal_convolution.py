"""Short causal convolution of a Mamba-2 mixer with SiLU, for the last tokens of a packed batch and its state.

Each channel has four taps. The three tokens before the chunk come as a state, and the last three leave as one.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="ssm_causal_convolution_bf16_c5376_k4",
    tier="L1",
    family="ssm",
    models=(
        Model("state-spaces/mamba2-2.7b", "d_model 2560: 2 × 2560 + 2 × d_state 128 channels, d_conv 4"),
    ),
    axes={"batch": var, "seq_len": var, "channels": 5376, "taps": 4, "kept": "taps - 1"},
    inputs={
        "x": activation("bfloat16[batch, seq_len, channels]", draw.normal()),
        "state": activation("bfloat16[batch, kept, channels]", draw.normal()),
        "kernel": weight("bfloat16[channels, taps]", draw.weight_matrix()),
        "bias": weight("bfloat16[channels]", draw.normal(std=0.3)),
    },
    outputs={
        "y": "bfloat16[batch, seq_len, channels]",
        "new_state": "bfloat16[batch, kept, channels]",
    },
    workloads=rows(
        "batch seq_len",
        (1, 1), (1, 128), (1, 1000), (1, 4096), (1, 16384), (2, 512), (4, 1), (4, 2048),
        (4, 3333), (8, 256), (8, 4096), (16, 1), (16, 1024), (32, 500), (64, 1), (64, 256),
    ),
    smoke=rows("batch seq_len channels", (2, 9, 32), (3, 30, 96)),
)  # fmt: skip

import torch


def run(x, state, kernel, bias):
    seq_len, taps = x.shape[1], kernel.shape[1]
    longer = torch.cat([state, x], dim=1)
    wide, weights = longer.to(torch.float32), kernel.to(torch.float32)
    y = bias.to(torch.float32) + sum(
        wide[:, tap : tap + seq_len] * weights[:, tap] for tap in range(taps)
    )
    return torch.nn.functional.silu(y).to(x.dtype), longer[:, seq_len:]
