"""Backward of a mixture-of-experts layer with its router, in float32: tokens, router and all experts.

Nothing but the choices was kept: products and routing weights, a softmax over each token's chosen scores, are
computed again. A token's gradient has two parts, one through its experts and one through the router.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_layer_router_backward_fp32_h2048_e128_k8",
    tier="L2",
    family="moe_layer",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-30B-A3B",
            "hidden_size 2048, moe_intermediate_size 768, num_experts 128, num_experts_per_tok"
            " 8, norm_topk_prob true",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 768, "two_inner": "2 * inner", "experts": 128, "top_k": 8,
    },
    inputs={
        "grad_y": activation("float32[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[num_tokens, hidden]", draw.normal()),
        "indices": activation("int32[num_tokens, top_k]", ROUTING["indices"]),
        "router": weight("float32[experts, hidden]", draw.weight_matrix()),
        "gate_up": weight("float32[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
    },
    outputs={
        "grad_x": "float32[num_tokens, hidden]",
        "grad_router": "float32[experts, hidden]",
        "grad_gate_up": "float32[experts, two_inner, hidden]",
        "grad_down": "float32[experts, hidden, inner]",
    },
    gradient=Gradient(
        "forward", ("x", "indices", "router", "gate_up", "down"), ("grad_y",),
        ("x", "router", "gate_up", "down"),
    ),
    workloads=rows(
        "num_tokens", *(32, 64, 128, 200, 256, 512, 600, 1024, 1500, 2000, 2048, 2500, 3000, 3500, 3840, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 48, 32, 6, 2), (24, 64, 48, 8, 4)),
)  # fmt: skip

import torch
from torch.nn import functional


def by_expert(indices, experts):
    """Copies of tokens in the order of their experts, and how many each expert has."""
    chosen = indices.flatten()
    return chosen.argsort(stable=True), torch.bincount(chosen, minlength=experts).tolist()


def route(x, indices, router):
    return torch.softmax((x @ router.T).gather(1, indices.long()), dim=-1)


def forward(x, indices, router, gate_up, down):
    order, lengths = by_expert(indices, router.shape[0])
    tokens, results = order // indices.shape[1], []
    for expert, own in enumerate(x[tokens].split(lengths)):
        gate, up = (own @ gate_up[expert].T).chunk(2, dim=-1)
        results.append((functional.silu(gate) * up) @ down[expert].T)
    weighted = torch.cat(results) * route(x, indices, router).flatten()[order, None]
    return torch.zeros_like(x).index_add(0, tokens, weighted)


def run(grad_y, x, indices, router, gate_up, down):
    order, lengths = by_expert(indices, router.shape[0])
    tokens, shares = order // indices.shape[1], route(x, indices, router)
    grad_rows, grad_shares, grad_gate_up, grad_down = [], [], [], []
    sorted_inputs = (x[tokens], grad_y[tokens], shares.flatten()[order, None])
    groups = zip(*(each.split(lengths) for each in sorted_inputs), strict=True)
    for expert, (own, upstream, share) in enumerate(groups):
        gate, up = (own @ gate_up[expert].T).chunk(2, dim=-1)
        opened = torch.sigmoid(gate)
        inner = gate * opened * up
        unweighted = upstream @ down[expert]
        grad_inner = unweighted * share
        grad_gate = grad_inner * up * opened * (1.0 + gate * (1.0 - opened))
        grad_product = torch.cat([grad_gate, grad_inner * gate * opened], dim=-1)
        grad_shares.append((unweighted * inner).sum(dim=-1))
        grad_rows.append(grad_product @ gate_up[expert])
        grad_gate_up.append(grad_product.T @ own)
        grad_down.append((upstream * share).T @ inner)
    grad_scores = router_gradient(torch.cat(grad_shares), order, shares, indices, router.shape[0])
    grad_x = (grad_scores @ router).index_add(0, tokens, torch.cat(grad_rows))
    return grad_x, grad_scores.T @ x, torch.stack(grad_gate_up), torch.stack(grad_down)


def router_gradient(sorted_gradient, order, shares, indices, experts):
    """Gradient of all scores; those that were not chosen get zero."""
    gradient = torch.zeros_like(shares).flatten().index_copy(0, order, sorted_gradient)
    gradient = gradient.view(shares.shape)
    along = (gradient * shares).sum(dim=-1, keepdim=True)
    scores = shares.new_zeros(shares.shape[0], experts)
    return scores.scatter(1, indices.long(), shares * (gradient - along))
