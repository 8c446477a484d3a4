"""States between the chunks of a Mamba-2 scan: each chunk decays what came before it and adds its own.

Returns the state at the start of each chunk and the one after the last.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="ssm_state_passing_fp32_h80_p64_n128",
    tier="L1",
    family="ssm",
    models=(
        Model(
            "state-spaces/mamba2-2.7b",
            "80 heads of headdim 64, d_state 128, chunk_size 256",
            read="state-spaces/mamba: README.md, table of sizes",
        ),
        Model(
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "mamba_num_heads 64, mamba_head_dim 64, ssm_state_size 128",
            read="THUDM/slime: scripts/models/nemotron-nano-30B-A3B.sh",
        ),
    ),
    axes={"batch": var, "chunks": var, "heads": 80, "head_dim": 64, "state": 128},
    inputs={
        "states": activation("float32[batch, chunks, heads, head_dim, state]", draw.normal(), EVERY_KIND),
        "log_decay": activation("float32[batch, chunks, heads]", draw.uniform(low=-2.0, high=-0.05)),
        "initial": activation("float32[batch, heads, head_dim, state]", draw.normal(), EVERY_KIND),
    },
    outputs={
        "starts": "float32[batch, chunks, heads, head_dim, state]",
        "last": "float32[batch, heads, head_dim, state]",
    },
    workloads=rows(
        "batch chunks heads",
        (1, 2, 80), (1, 4, 64), (1, 8, 80), (1, 16, 80), (1, 32, 64), (2, 4, 80), (2, 16, 80), (3, 7, 64),
        (4, 8, 80), (4, 16, 64), (8, 4, 80), (8, 8, 80), (16, 2, 80), (16, 8, 64), (32, 2, 80), (32, 4, 80),
    ),
    smoke=rows("batch chunks heads head_dim state", (2, 3, 2, 8, 16), (1, 6, 4, 16, 32)),
)  # fmt: skip

import torch


def run(states, log_decay, initial):
    decay = torch.exp(log_decay)
    current, starts = initial, []
    for chunk in range(states.shape[1]):
        starts.append(current)
        current = current * decay[:, chunk, :, None, None] + states[:, chunk]
    return torch.stack(starts, dim=1), current
