"""A fine-grained mixture of experts while decoding: a few tokens, each with ten experts of 512 of its own.

With so few tokens nearly every choice reads another expert, so the layer is written by token: its experts'
matrices are gathered. The router has spoken: choices and weights come in. A sigmoid of the token opens the
shared expert.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_layer_few_tokens_bf16_h2048_e512_k10",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "hidden_size 2048, num_experts 512, num_experts_per_tok 10, moe_intermediate_size "
            "512, shared_expert_intermediate_size 512, norm_topk_prob true",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 512, "two_inner": "2 * inner", "experts": 512, "top_k": 10,
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "indices": activation("int32[num_tokens, top_k]", ROUTING["indices"]),
        "shares": activation("float32[num_tokens, top_k]", ROUTING["weights"]),
        "gate_up": weight("bfloat16[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[experts, hidden, inner]", draw.weight_matrix()),
        "shared_gate_up": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "shared_down": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "opening": weight("bfloat16[1, hidden]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (3, 64, 32, 16, 4), (7, 96, 48, 32, 10)),
)  # fmt: skip

import torch


def run(x, indices, shares, gate_up, down, shared_gate_up, shared_down, opening):
    chosen = indices.long()
    products = torch.einsum("th,tkoh->tko", x, gate_up[chosen])
    results = torch.einsum("tki,tkhi->tkh", activate(products), down[chosen])
    routed = (results.to(torch.float32) * shares[..., None]).sum(dim=1)
    shared = activate(x @ shared_gate_up.T) @ shared_down.T
    return (routed + torch.sigmoid((x @ opening.T).to(torch.float32)) * shared).to(x.dtype)


def activate(products):
    gate, up = products.to(torch.float32).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up).to(products.dtype)
