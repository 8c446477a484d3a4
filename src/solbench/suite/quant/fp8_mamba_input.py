"""Input projection of a Mamba-2 mixer in FP8 with per-tensor scales, split into its five parts.

The gate leaves through SiLU and the step size through softplus with its bias; x, B and C leave together, since
the convolution takes them so.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

INPUT = draw.fp8_tensor(rows="num_tokens", columns="hidden")
WEIGHT = draw.fp8_tensor(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="fp8_mamba_input_h4480_o22656",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/NVIDIA-Nemotron-Nano-9B-v2-FP8",
            "hidden_size 4480, mamba_num_heads 128, mamba_head_dim 80, n_groups 8, "
            "ssm_state_size 128",
            read="its base model: NVIDIA-NeMo/Megatron-Bridge: docs/models/llm/nemotronh.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 4480, "heads": 128, "inner": 10240, "mixed": 12288,
        "width": "inner + mixed + heads",
    },
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scale": activation("float32[]", INPUT["scale"], ("scale",)),
        "weight": weight("float8_e4m3fn[width, hidden]", WEIGHT["values"]),
        "weight_scale": weight("float32[]", WEIGHT["scale"]),
        "step_bias": weight("float32[heads]", draw.normal(mean=-3.0)),
        "inner": scalar("int32", "inner"),
    },
    outputs={
        "gate": "bfloat16[num_tokens, inner]",
        "mixed": "bfloat16[num_tokens, mixed]",
        "step": "float32[num_tokens, heads]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 31, 64, 128, 256, 300, 512, 1024, 2048, 3000, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden heads inner mixed", (5, 256, 4, 64, 96), (24, 512, 8, 128, 192)),
)  # fmt: skip

import torch


def run(x, x_scale, weight, weight_scale, step_bias, inner):
    projected = x.to(torch.float32) @ weight.to(torch.float32).T * (x_scale * weight_scale)
    heads = step_bias.shape[0]
    gate, mixed, step = projected.split([inner, projected.shape[1] - inner - heads, heads], dim=-1)
    step = torch.nn.functional.softplus(step + step_bias)
    return torch.nn.functional.silu(gate).to(torch.bfloat16), mixed.to(torch.bfloat16), step
