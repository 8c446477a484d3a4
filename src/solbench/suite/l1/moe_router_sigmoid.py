"""Router with its projection: sigmoid scores, experts chosen with a correction bias, weights without it.

Scores of the chosen experts are made to sum to one and scaled.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_router_sigmoid_bf16_h7168_e384_k8",
    tier="L1",
    family="moe",
    models=(
        Model(
            "moonshotai/Kimi-K2-Instruct",
            "hidden_size 7168, n_routed_experts 384, num_experts_per_tok 8, n_group 1, "
            "scoring_func sigmoid, routed_scaling_factor 2.827",
            read="ai-dynamo/aiconfigurator: moonshotai--Kimi-K2-Instruct",
        ),
    ),
    axes={"num_tokens": var, "hidden": 7168, "experts": 384, "top_k": 8},
    inputs={
        "hidden_states": activation("bfloat16[num_tokens, hidden]", draw.normal(), ("sign",)),
        "gate": weight("bfloat16[experts, hidden]", draw.weight_matrix()),
        "correction": weight("float32[experts]", draw.correction_bias()),
        "top_k": scalar("int32", "top_k"),
        "scaling": scalar("float32", 2.827),
    },
    outputs={"weights": "float32[num_tokens, top_k]", "indices": "int32[num_tokens, top_k]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 30, 64, 128, 200, 256, 512, 1000, 1024, 2048, 4096, 8192, 12000)
    ),
    smoke=rows("num_tokens hidden experts top_k", (6, 128, 16, 4), (24, 256, 48, 8)),
)  # fmt: skip

import torch


def run(hidden_states, gate, correction, top_k, scaling):
    scores = torch.sigmoid(hidden_states.to(torch.float32) @ gate.to(torch.float32).T)
    indices = (scores + correction).topk(top_k, dim=-1).indices
    weights = scores.gather(1, indices)
    return weights / weights.sum(dim=-1, keepdim=True) * scaling, indices.to(torch.int32)
