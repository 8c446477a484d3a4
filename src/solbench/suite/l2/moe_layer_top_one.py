"""A mixture-of-experts layer in which each token goes to one expert and to the shared one.

The sigmoid of the best score scales the token before the expert sees it, not the expert's result.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="moe_layer_top_one_bf16_h5120_e16",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "meta-llama/Llama-4-Scout-17B-16E",
            "text_config: hidden_size 5120, intermediate_size 8192, num_local_experts 16, "
            "num_experts_per_tok 1",
            "multimodal",
            read="ai-dynamo/aiconfigurator: meta-llama--Llama-4-Scout-17B-16E-Instruct",
        ),
    ),
    axes={"num_tokens": var, "hidden": 5120, "inner": 8192, "two_inner": "2 * inner", "experts": 16},
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "scores": activation("float32[num_tokens, experts]", draw.router_logits()),
        "gate_up": weight("bfloat16[experts, hidden, two_inner]", draw.weight_matrix(fan_in="hidden")),
        "down": weight("bfloat16[experts, inner, hidden]", draw.weight_matrix(fan_in="inner")),
        "shared_gate_up": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "shared_down": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 13, 16, 32, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts", (9, 64, 48, 4), (24, 96, 128, 8)),
)  # fmt: skip

import torch


def run(x, scores, gate_up, down, shared_gate_up, shared_down):
    best, chosen = scores.max(dim=-1)
    scaled = (x.to(torch.float32) * torch.sigmoid(best)[:, None]).to(x.dtype)
    y = mlp(x, shared_gate_up.T, shared_down.T)
    for expert in range(scores.shape[1]):
        (tokens,) = torch.where(chosen == expert)
        if tokens.numel() == 0:
            continue
        y = y.index_add(0, tokens, mlp(scaled[tokens], gate_up[expert], down[expert]))
    return y


def mlp(x, gate_up, down):
    gate, up = (x @ gate_up).to(torch.float32).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up).to(x.dtype) @ down
