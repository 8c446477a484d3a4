"""Backward of a doubly gated short convolution in float32, the mixer of most layers of a small hybrid model.

The forward projects to two gates and a value, multiplies value and first gate, convolves three tokens by
channel, multiplies by the second gate and projects. The first projection's result was kept.
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

WANTED = ("x", "input_weight", "kernel", "output_weight")
PROBLEM = Problem(
    name="short_convolution_backward_fp32_h2048_k3",
    tier="L2",
    family="ssm_block",
    direction="backward",
    models=(
        Model(
            "LiquidAI/LFM2-1.2B",
            "hidden_size 2048, conv_L_cache 3, conv_bias false",
            read="pytorch/executorch: lfm2_1_2b_config.json; FastFlowLM/LFM2-1.2B-NPU2: config.json",
        ),
    ),
    axes={"batch": var, "seq_len": var, "hidden": 2048, "three": "3 * hidden", "taps": 3},
    inputs={
        "grad_y": activation("float32[batch, seq_len, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, seq_len, hidden]", draw.normal()),
        "input_weight": weight("float32[three, hidden]", draw.weight_matrix()),
        "kernel": weight("float32[taps, hidden]", draw.weight_matrix(fan_in=3)),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "projected": activation("float32[batch, seq_len, three]", computed("project", "x", "input_weight")),
    },
    outputs={
        "grad_x": "float32[batch, seq_len, hidden]",
        "grad_input_weight": "float32[three, hidden]",
        "grad_kernel": "float32[taps, hidden]",
        "grad_output_weight": "float32[hidden, hidden]",
    },
    gradient=Gradient("forward", WANTED, ("grad_y",), WANTED),
    workloads=rows(
        "batch seq_len",
        (1, 64), (1, 256), (1, 777), (1, 1024), (1, 2048), (1, 4096), (1, 8192), (2, 128),
        (2, 1000), (2, 4096), (4, 512), (4, 2048), (8, 256), (8, 1024), (16, 512), (32, 128),
    ),
    smoke=rows("batch seq_len hidden", (2, 9, 48), (1, 40, 96)),
)  # fmt: skip

import torch
from torch.nn import functional


def project(x, input_weight):
    return x @ input_weight.T


def convolve(values, kernel):
    """Tap j of a kernel of n sees the token n - 1 - j before."""
    taps, seq_len = kernel.shape[0], values.shape[1]
    early = functional.pad(values, (0, 0, taps - 1, 0))
    return sum(early[:, tap : tap + seq_len] * kernel[tap] for tap in range(taps))


def forward(x, input_weight, kernel, output_weight):
    first, second, value = project(x, input_weight).chunk(3, dim=-1)
    return (second * convolve(first * value, kernel)) @ output_weight.T


def run(grad_y, x, input_weight, kernel, output_weight, projected):
    taps, seq_len = kernel.shape[0], x.shape[1]
    first, second, value = projected.chunk(3, dim=-1)
    gated = first * value
    convolved = convolve(gated, kernel)
    grad_inner = grad_y @ output_weight
    grad_output_weight = grad_y.flatten(0, 1).T @ (second * convolved).flatten(0, 1)
    grad_convolved = grad_inner * second
    early = functional.pad(gated, (0, 0, taps - 1, 0))
    grad_kernel = torch.stack(
        [(grad_convolved * early[:, tap : tap + seq_len]).sum(dim=(0, 1)) for tap in range(taps)]
    )
    # A token was seen by itself and by the ones after it: the same convolution, backwards in time.
    grad_gated = convolve(grad_convolved.flip(1), kernel).flip(1)
    grad_projected = torch.cat(
        [grad_gated * value, grad_inner * convolved, grad_gated * first], dim=-1
    )
    grad_input_weight = grad_projected.flatten(0, 1).T @ x.flatten(0, 1)
    return grad_projected @ input_weight, grad_input_weight, grad_kernel, grad_output_weight
