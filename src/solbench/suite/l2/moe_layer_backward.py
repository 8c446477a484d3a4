"""Backward of a mixture-of-experts layer in float32: gradients of tokens, routing weights and all experts.

The forward kept its gate and up products, a row for each token and choice, in the order of the experts. An
expert without tokens gets zeros.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    var,
    weight,
)

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_layer_backward_fp32_h2048_e64_k8",
    tier="L2",
    family="moe_layer",
    direction="backward",
    models=(
        Model(
            "allenai/OLMoE-1B-7B-0924",
            "hidden_size 2048, intermediate_size 1024, num_experts 64, num_experts_per_tok 8",
            read="NVIDIA-NeMo/Megatron-Bridge: docs/models/llm/olmoe.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 1024, "two_inner": "2 * inner", "experts": 64, "top_k": 8,
        "copies": "num_tokens * top_k",
    },
    inputs={
        "grad_y": activation("float32[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[num_tokens, hidden]", draw.normal()),
        "indices": activation("int32[num_tokens, top_k]", ROUTING["indices"]),
        "shares": activation("float32[num_tokens, top_k]", ROUTING["weights"]),
        "gate_up": weight("float32[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
        "products": activation("float32[copies, two_inner]", computed("project", "x", "indices", "gate_up")),
    },
    outputs={
        "grad_x": "float32[num_tokens, hidden]",
        "grad_shares": "float32[num_tokens, top_k]",
        "grad_gate_up": "float32[experts, two_inner, hidden]",
        "grad_down": "float32[experts, hidden, inner]",
    },
    gradient=Gradient(
        "forward", ("x", "indices", "shares", "gate_up", "down"), ("grad_y",),
        ("x", "shares", "gate_up", "down")
    ),
    workloads=rows(
        "num_tokens", *(32, 64, 100, 128, 256, 400, 512, 777, 1024, 1500, 2000, 2048, 2500, 3000, 3500, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 48, 32, 6, 2), (24, 64, 48, 8, 4)),
)  # fmt: skip

import torch
from torch.nn import functional


def by_expert(indices, experts):
    """Copies of tokens in the order of their experts, and how many each expert has."""
    chosen = indices.flatten()
    return chosen.argsort(stable=True), torch.bincount(chosen, minlength=experts).tolist()


def project(x, indices, gate_up):
    order, lengths = by_expert(indices, gate_up.shape[0])
    groups = x[order // indices.shape[1]].split(lengths)
    return torch.cat([own @ matrix.T for own, matrix in zip(groups, gate_up, strict=True)])


def forward(x, indices, shares, gate_up, down):
    order, lengths = by_expert(indices, gate_up.shape[0])
    gate, up = project(x, indices, gate_up).chunk(2, dim=-1)
    groups = (functional.silu(gate) * up).split(lengths)
    results = torch.cat([own @ matrix.T for own, matrix in zip(groups, down, strict=True)])
    weighted = results * shares.flatten()[order, None]
    return torch.zeros_like(x).index_add(0, order // indices.shape[1], weighted)


def run(grad_y, x, indices, shares, gate_up, down, products):
    order, lengths = by_expert(indices, gate_up.shape[0])
    tokens, share = order // indices.shape[1], shares.flatten()[order, None]
    grad_rows, grad_shares, grad_gate_up, grad_down = [], [], [], []
    sorted_inputs = (x[tokens], grad_y[tokens], products, share)
    groups = zip(*(each.split(lengths) for each in sorted_inputs), strict=True)
    for expert, (own, upstream, product, weights) in enumerate(groups):
        gate, up = product.chunk(2, dim=-1)
        opened = torch.sigmoid(gate)
        inner = gate * opened * up
        unweighted = upstream @ down[expert]
        grad_inner = unweighted * weights
        grad_gate = grad_inner * up * opened * (1.0 + gate * (1.0 - opened))
        grad_product = torch.cat([grad_gate, grad_inner * gate * opened], dim=-1)
        grad_shares.append((unweighted * inner).sum(dim=-1))
        grad_rows.append(grad_product @ gate_up[expert])
        grad_gate_up.append(grad_product.T @ own)
        grad_down.append((upstream * weights).T @ inner)
    grad_x = torch.zeros_like(x).index_add(0, tokens, torch.cat(grad_rows))
    shares_flat = torch.zeros_like(shares).flatten().index_copy(0, order, torch.cat(grad_shares))
    return grad_x, shares_flat.view(shares.shape), torch.stack(grad_gate_up), torch.stack(grad_down)
