"""A whole Mamba-2 mixer over a prompt in float32: projection, convolution, chunked scan, gated norm, output.

Inside a chunk the scan is a causal product of C and B weighted by decays, as in attention; between chunks a
state of head_dim × state a head is handed on. The last state is returned: decoding goes on from it.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="mamba_chunk_block_fp32_h2560",
    tier="L2",
    family="ssm_block",
    models=(
        Model(
            "state-spaces/mamba2-2.7b",
            "d_model 2560, expand 2, headdim 64, d_state 128, ngroups 1, d_conv 4, chunk_size "
            "256",
            read="state-spaces/mamba: README.md, table of sizes",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 2560, "heads": 80, "head_dim": 64, "state": 128, "chunk": 256,
        "inner": "heads * head_dim", "mixed": "inner + 2 * state", "width": "inner + mixed + heads",
    },
    constraints=("seq_len % chunk == 0",),
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(), ("sign", "outliers", "sparsity")),
        "input_weight": weight("float32[width, hidden]", draw.weight_matrix()),
        "kernel": weight("float32[mixed, 1, 4]", draw.weight_matrix()),
        "kernel_bias": weight("float32[mixed]", draw.normal(std=0.2)),
        "step_bias": weight("float32[heads]", draw.normal(mean=-3.0)),
        "log_rate": weight("float32[heads]", draw.uniform(low=0.0, high=2.0)),
        "skip": weight("float32[heads]", draw.normal(mean=1.0, std=0.2)),
        "gain": weight("float32[inner]", draw.norm_weight()),
        "output_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "state": scalar("int32", "state"),
        "chunk": scalar("int32", "chunk"),
    },
    outputs={
        "y": "float32[batch, seq_len, hidden]",
        "last_state": "float32[batch, heads, state, head_dim]",
    },
    workloads=rows(
        "batch seq_len",
        (1, 256), (1, 512), (1, 768), (1, 1024), (1, 2048), (1, 3072), (1, 4096), (1, 8192),
        (2, 512), (2, 1280), (2, 4096), (3, 768), (4, 256), (4, 2048), (8, 512), (16, 256),
    ),
    smoke=rows(
        "batch seq_len hidden heads head_dim state chunk", (2, 24, 64, 4, 16, 16, 8), (1, 48, 96, 2, 32, 24, 16)
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, input_weight, kernel, kernel_bias, step_bias, log_rate, skip, gain, output_weight, state, chunk,
):  # fmt: skip
    heads, inner = step_bias.shape[0], gain.shape[0]
    gate, mixed, step = (x @ input_weight.T).split([inner, inner + 2 * state, heads], dim=-1)
    early = functional.pad(mixed.transpose(1, 2), (kernel.shape[-1] - 1, 0))
    convolved = functional.conv1d(early, kernel, kernel_bias, groups=mixed.shape[-1])
    value, b, c = functional.silu(convolved.transpose(1, 2)).split([inner, state, state], dim=-1)
    value = value.unflatten(-1, (heads, -1))
    step = functional.softplus(step + step_bias)
    read, last_state = scan(value, b, c, step, -torch.exp(log_rate), chunk)
    read = read + skip[:, None] * value
    gated = read.flatten(2) * functional.silu(gate)
    scale = torch.rsqrt(gated.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return (gated * scale * gain) @ output_weight.T, last_state


def scan(value, b, c, step, rate, chunk):
    """What each token reads, [batch, seq_len, heads, head_dim], and the state after the last one."""
    value, b, c, step = (each.unflatten(1, (-1, chunk)) for each in (value, b, c, step))
    passed = torch.cumsum(step * rate, dim=2)  # log of the decay since the chunk began
    between = passed[:, :, :, None] - passed[:, :, None]  # [batch, chunks, to, from, heads]
    later = torch.ones(chunk, chunk, dtype=torch.bool, device=value.device).triu(1)
    decay = torch.exp(between.masked_fill(later[..., None], float("-inf")))
    written = step[..., None] * value
    mixing = (c @ b.transpose(-1, -2))[..., None] * decay
    inside = torch.einsum("nctfh,ncfhp->ncthp", mixing, written)
    to_end = torch.exp(passed[:, :, -1:] - passed)
    added = torch.einsum("ncts,ncthp->nchsp", b, to_end[..., None] * written)
    through = torch.exp(passed[:, :, -1])  # decay of the state over a whole chunk
    state, before = torch.zeros_like(added[:, 0]), []
    for index in range(added.shape[1]):
        before.append(state)
        state = state * through[:, index, :, None, None] + added[:, index]
    handed = torch.einsum("ncts,nchsp->ncthp", c, torch.stack(before, dim=1))
    return (inside + torch.exp(passed)[..., None] * handed).flatten(1, 2), state
