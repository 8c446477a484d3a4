"""One decode step of a whole Mamba-2 mixer: projection, convolution, recurrence, gated norm, output.

Returns the output and both states as they are for the next token. Up to the norm all is kept in float32.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="mamba_decode_block_bf16_h2560",
    tier="L2",
    family="ssm_block",
    models=(
        Model(
            "state-spaces/mamba2-2.7b",
            "d_model 2560, expand 2, headdim 64, d_state 128, ngroups 1, d_conv 4",
            read="state-spaces/mamba: README.md, table of sizes",
        ),
    ),
    axes={
        "batch": var, "hidden": 2560, "heads": 80, "head_dim": 64, "state": 128, "inner": "heads * head_dim",
        "mixed": "inner + 2 * state", "width": "inner + mixed + heads",
    },
    inputs={
        "x": activation("bfloat16[batch, hidden]", draw.normal(), ("sign", "sparsity")),
        "convolution_state": activation("bfloat16[batch, 3, mixed]", draw.normal(), ("sign", "sparsity")),
        "ssm_state": activation("float32[batch, heads, head_dim, state]", draw.normal(std=0.3), EVERY_KIND),
        "input_weight": weight("bfloat16[width, hidden]", draw.weight_matrix()),
        "kernel": weight("bfloat16[4, mixed]", draw.weight_matrix(fan_in=4)),
        "kernel_bias": weight("bfloat16[mixed]", draw.normal(std=0.2)),
        "step_bias": weight("float32[heads]", draw.normal(mean=-1.0)),
        "log_rate": weight("float32[heads]", draw.uniform(low=0.0, high=2.0)),
        "skip": weight("float32[heads]", draw.normal(mean=1.0, std=0.2)),
        "gain": weight("bfloat16[inner]", draw.norm_weight()),
        "output_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
    },
    outputs={
        "y": "bfloat16[batch, hidden]",
        "new_convolution_state": "bfloat16[batch, 3, mixed]",
        "new_ssm_state": "float32[batch, heads, head_dim, state]",
    },
    workloads=rows("batch", *(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 128, 192, 256)),
    smoke=rows("batch hidden heads head_dim state", (2, 64, 4, 16, 16), (3, 96, 2, 32, 64)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, convolution_state, ssm_state, input_weight, kernel, kernel_bias, step_bias, log_rate, skip, gain,
    output_weight,
):  # fmt: skip
    _, heads, head_dim, state = ssm_state.shape
    inner = heads * head_dim
    projected = x.to(torch.float32) @ input_weight.to(torch.float32).T
    gate, mixed, step = projected.split([inner, inner + 2 * state, heads], dim=-1)
    taps = torch.cat([convolution_state.to(torch.float32), mixed[:, None]], dim=1)
    convolved = (taps * kernel.to(torch.float32)).sum(dim=1)
    convolved = functional.silu(convolved + kernel_bias.to(torch.float32))
    value, b, c = convolved.split([inner, state, state], dim=-1)
    value = value.unflatten(-1, (heads, head_dim))
    step = functional.softplus(step + step_bias)
    decay = torch.exp(-step * torch.exp(log_rate))[..., None, None]
    new_state = ssm_state * decay + (step[..., None] * value)[..., None] * b[:, None, None]
    read = (new_state * c[:, None, None]).sum(dim=-1) + skip[:, None] * value
    gated = read.flatten(1) * functional.silu(gate)
    scale = torch.rsqrt(gated.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    normalised = (gated * scale * gain.to(torch.float32)).to(x.dtype)
    return normalised @ output_weight.T, taps[:, 1:].to(x.dtype), new_state
