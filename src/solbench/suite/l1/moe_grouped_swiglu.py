"""First product of routed experts with SwiGLU: rows sorted by expert, a gate and an up weight each.

``lengths`` says how many of the rows belong to each expert; some have none.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

GROUPS = draw.ragged_lengths(sequences="experts", total="num_rows", least=0, spread=1.0)
PROBLEM = Problem(
    name="moe_grouped_swiglu_bf16_e128_h4096_i1408",
    tier="L1",
    family="moe",
    models=(
        Model(
            "zai-org/GLM-4.5-Air",
            "n_routed_experts 128, hidden_size 4096, moe_intermediate_size 1408",
            read="huggingface/transformers: configuration_glm4_moe.py",
        ),
    ),
    axes={"num_rows": var, "experts": 128, "hidden": 4096, "inner": 1408},
    inputs={
        "x": activation("bfloat16[num_rows, hidden]", draw.normal(), EVERY_KIND),
        "gate": weight("bfloat16[experts, inner, hidden]", draw.weight_matrix()),
        "up": weight("bfloat16[experts, inner, hidden]", draw.weight_matrix()),
        "lengths": activation("int32[experts]", GROUPS["lengths"]),
    },
    outputs={"y": "bfloat16[num_rows, inner]"},
    workloads=rows(
        "num_rows", *(8, 16, 64, 100, 128, 256, 512, 777, 1024, 2048, 4096, 8192, 10000, 16384, 32768, 65536)
    ),
    smoke=rows("num_rows experts hidden inner", (13, 4, 64, 48), (40, 6, 256, 88)),
)  # fmt: skip

import torch


def run(x, gate, up, lengths):
    outputs = []
    for expert, tokens in enumerate(x.split(lengths.tolist())):
        opening = (tokens @ gate[expert].T).to(torch.float32)
        outputs.append(
            torch.nn.functional.silu(opening) * (tokens @ up[expert].T).to(torch.float32)
        )
    return torch.cat(outputs).to(x.dtype)
