"""Weight gradients of a grouped product: for each expert, its rows' upstream gradients times their inputs.

An expert without rows gets zeros.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

GROUPS = draw.ragged_lengths(sequences="experts", total="num_rows", least=0, spread=0.8)
PROBLEM = Problem(
    name="moe_grouped_weight_backward_bf16_e64_i1024_h2048",
    tier="L1",
    family="moe",
    direction="backward",
    models=(
        Model(
            "allenai/OLMoE-1B-7B-0924",
            "num_experts 64, hidden_size 2048, intermediate_size 1024",
            read="NVIDIA-NeMo/Megatron-Bridge: docs/models/llm/olmoe.md",
        ),
    ),
    axes={"num_rows": var, "experts": 64, "inner": 1024, "hidden": 2048},
    inputs={
        "grad_y": activation("bfloat16[num_rows, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_rows, inner]", draw.normal(), EVERY_KIND),
        "lengths": activation("int32[experts]", GROUPS["lengths"]),
    },
    outputs={"grad_weight": "float32[experts, hidden, inner]"},
    gradient=Gradient("forward", ("x", "weight", "lengths"), ("grad_y",), ("weight",)),
    workloads=rows(
        "num_rows",
        *(64, 128, 500, 512, 1000, 1024, 2048, 4096, 5000, 8192, 10000, 16384, 24576, 32768, 50000, 65536),
    ),
    smoke=rows("num_rows experts inner hidden", (21, 3, 32, 48), (50, 5, 64, 96)),
)  # fmt: skip

import torch


def forward(x, weight, lengths):
    groups = zip(x.split(lengths.tolist()), weight, strict=True)
    return torch.cat([rows @ matrix.T for rows, matrix in groups])


def run(grad_y, x, lengths):
    sizes = lengths.tolist()
    upstream, inputs = grad_y.to(torch.float32).split(sizes), x.to(torch.float32).split(sizes)
    return torch.stack([above.T @ below for above, below in zip(upstream, inputs, strict=True)])
