"""Tokens copied and sorted by expert, the input of a grouped product; within an expert in token order.

Row r of the result is the token whose (token, choice) pair stands at place r after a stable sort by expert.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_permute_bf16_h6144_e160_k8",
    tier="L1",
    family="moe",
    models=(
        Model(
            "Qwen/Qwen3-Coder-480B-A35B-Instruct",
            "hidden_size 6144, num_experts 160, num_experts_per_tok 8",
            read="zyzshishui/miles: scripts/models/qwen3-coder-480B-A35B.sh",
        ),
    ),
    axes={"num_tokens": var, "hidden": 6144, "experts": 160, "top_k": 8, "copies": "num_tokens * top_k"},
    inputs={
        "hidden_states": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "indices": activation("int32[num_tokens, top_k]", ROUTING["indices"]),
    },
    outputs={"permuted": "bfloat16[copies, hidden]", "source": "int32[copies]"},
    workloads=rows(
        "num_tokens", *(2, 4, 8, 16, 33, 64, 128, 256, 500, 512, 1024, 1500, 2048, 4096, 8192, 16384)
    ),
    smoke=rows("num_tokens hidden experts top_k", (6, 64, 8, 2), (24, 256, 16, 4)),
)  # fmt: skip

import torch


def run(hidden_states, indices):
    order = torch.sort(indices.flatten(), stable=True).indices
    source = order // indices.shape[1]
    return hidden_states[source], source.to(torch.int32)
