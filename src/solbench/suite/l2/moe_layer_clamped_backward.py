"""Backward of experts with biases and a clamped SwiGLU, in float32: tokens, weights and biases of all experts.

Where the forward cut a gate or an up value, nothing flows back. Nothing was kept: products are computed again.
Gate and up rows alternate.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_layer_clamped_backward_fp32_h2880_e32_k4",
    tier="L2",
    family="moe_layer",
    direction="backward",
    models=(
        Model(
            "openai/gpt-oss-20b",
            "hidden_size 2880, intermediate_size 2880, num_local_experts 32, "
            "num_experts_per_tok 4, swiglu_limit 7",
            read="EchoCog/gpt-oss-20b: docs/gpt-oss-20b-architecture.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2880, "inner": 2880, "two_inner": "2 * inner", "experts": 32, "top_k": 4,
    },
    inputs={
        "grad_y": activation("float32[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[num_tokens, hidden]", draw.normal(std=2.5), ("sign",)),
        "indices": activation("int32[num_tokens, top_k]", ROUTING["indices"]),
        "shares": activation("float32[num_tokens, top_k]", ROUTING["weights"]),
        "gate_up": weight("float32[experts, two_inner, hidden]", draw.weight_matrix()),
        "gate_up_bias": weight("float32[experts, two_inner]", draw.normal(std=0.5)),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
    },
    outputs={
        "grad_x": "float32[num_tokens, hidden]",
        "grad_gate_up": "float32[experts, two_inner, hidden]",
        "grad_gate_up_bias": "float32[experts, two_inner]",
        "grad_down": "float32[experts, hidden, inner]",
        "grad_down_bias": "float32[experts, hidden]",
    },
    gradient=Gradient(
        "forward", ("x", "indices", "shares", "gate_up", "gate_up_bias", "down", "down_bias"), ("grad_y",),
        ("x", "gate_up", "gate_up_bias", "down", "down_bias"),
    ),
    workloads=rows(
        "num_tokens", *(32, 64, 100, 128, 256, 400, 512, 777, 1024, 1500, 2048, 2500, 3000, 3500, 4000, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (12, 48, 32, 4, 2), (24, 64, 48, 6, 4)),
)  # fmt: skip

import torch


def by_expert(indices, experts):
    """Copies of tokens in the order of their experts, and how many each expert has."""
    chosen = indices.flatten()
    return chosen.argsort(stable=True), torch.bincount(chosen, minlength=experts).tolist()


def forward(x, indices, shares, gate_up, gate_up_bias, down, down_bias):
    order, lengths = by_expert(indices, down.shape[0])
    tokens, results = order // indices.shape[1], []
    for expert, own in enumerate(x[tokens].split(lengths)):
        gate, up = cut(own @ gate_up[expert].T + gate_up_bias[expert])
        inner = gate * torch.sigmoid(1.702 * gate) * (up + 1.0)
        results.append(inner @ down[expert].T + down_bias[expert])
    weighted = torch.cat(results) * shares.flatten()[order, None]
    return torch.zeros_like(x).index_add(0, tokens, weighted)


def cut(products):
    """The gate and the up values of alternating rows, cut at 7."""
    return products[:, 0::2].clamp(max=7.0), products[:, 1::2].clamp(min=-7.0, max=7.0)


def run(grad_y, x, indices, shares, gate_up, gate_up_bias, down):
    order, lengths = by_expert(indices, down.shape[0])
    tokens = order // indices.shape[1]
    weighted = grad_y[tokens] * shares.flatten()[order, None]
    groups = zip(x[tokens].split(lengths), weighted.split(lengths), strict=True)
    grad_rows, grad_gate_up, grad_gate_up_bias, grad_down, grad_down_bias = [], [], [], [], []
    for expert, (own, upstream) in enumerate(groups):
        products = own @ gate_up[expert].T + gate_up_bias[expert]
        inner, grad_product = inner_and_gradient(products, upstream @ down[expert])
        grad_rows.append(grad_product @ gate_up[expert])
        grad_gate_up.append(grad_product.T @ own)
        grad_gate_up_bias.append(grad_product.sum(dim=0))
        grad_down.append(upstream.T @ inner)
        grad_down_bias.append(upstream.sum(dim=0))
    grad_x = torch.zeros_like(x).index_add(0, tokens, torch.cat(grad_rows))
    of_experts = (grad_gate_up, grad_gate_up_bias, grad_down, grad_down_bias)
    return grad_x, *(torch.stack(each) for each in of_experts)


def inner_and_gradient(products, grad_inner):
    gate, up = cut(products)
    share = torch.sigmoid(1.702 * gate)
    slope = share * (1.0 + 1.702 * gate * (1.0 - share))
    grad_gate = grad_inner * (up + 1.0) * slope * (products[:, 0::2] <= 7.0)
    grad_up = grad_inner * gate * share * (products[:, 1::2].abs() <= 7.0)
    grad_products = torch.stack([grad_gate, grad_up], dim=-1).flatten(1)
    return gate * share * (up + 1.0), grad_products
