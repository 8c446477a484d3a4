"""Router that chooses before it normalises: logits with bias, the 4 largest, softmax over those alone."""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_router_choose_first_bf16_h2880_e128_k4",
    tier="L1",
    family="moe",
    models=(
        Model(
            "openai/gpt-oss-120b",
            "hidden_size 2880, num_local_experts 128, num_experts_per_tok 4",
            read="huggingface/transformers: configuration_gpt_oss.py",
        ),
        Model(
            "openai/gpt-oss-20b",
            "hidden_size 2880, num_local_experts 32, num_experts_per_tok 4",
            read="EchoCog/gpt-oss-20b: docs/gpt-oss-20b-architecture.md",
        ),
    ),
    axes={"num_tokens": var, "hidden": 2880, "experts": 128, "top_k": 4},
    inputs={
        "hidden_states": activation("bfloat16[num_tokens, hidden]", draw.normal(), ("sign",)),
        "gate": weight("bfloat16[experts, hidden]", draw.weight_matrix()),
        "bias": weight("bfloat16[experts]", draw.normal(std=0.5)),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"weights": "float32[num_tokens, experts]"},
    workloads=rows(
        "num_tokens experts",
        (1, 128), (4, 32), (8, 128), (16, 32), (45, 128), (64, 32), (128, 128), (256, 32), (512, 128),
        (777, 32), (1024, 128), (2048, 128), (4096, 32), (4096, 128), (8192, 128), (16384, 32),
    ),
    smoke=rows("num_tokens hidden experts", (6, 96, 8), (24, 360, 32)),
)  # fmt: skip

import torch


def run(hidden_states, gate, bias, top_k):
    logits = hidden_states.to(torch.float32) @ gate.to(torch.float32).T + bias.to(torch.float32)
    best = logits.topk(top_k, dim=-1)
    chosen = torch.softmax(best.values, dim=-1)
    return torch.zeros_like(logits).scatter(1, best.indices, chosen)
