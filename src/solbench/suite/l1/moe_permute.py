"""Tokens copied and sorted by expert, the input of a grouped product; within an expert in token order.

Row r of the result is the token whose (token, choice) pair stands at place r after a stable sort by expert.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_permute_bf16_h8192_e64_k8",
    tier="L1",
    family="moe",
    models=(
        Model(
            "baidu/ERNIE-4.5-300B-A47B-PT", "hidden_size 8192, moe_num_experts 64, moe_k 8"
        ),
    ),
    axes={"num_tokens": var, "hidden": 8192, "experts": 64, "top_k": 8, "copies": "num_tokens * top_k"},
    inputs={
        "hidden_states": activation("bfloat16[num_tokens, hidden]", draw.normal()),
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
