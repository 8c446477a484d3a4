"""Backward of frozen squared-ReLU experts: gradients of tokens and routing weights, none of the experts.

This is what fine-tuning with adapters elsewhere needs. Up products are computed again; sums stay in float32
until they enter the next product.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_layer_frozen_backward_bf16_h2688_e128_k6",
    tier="L2",
    family="moe_layer",
    direction="backward",
    models=(
        Model(
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "hidden_size 2688, n_routed_experts 128, num_experts_per_tok 6, "
            "moe_intermediate_size 1856, mlp_hidden_act relu2",
            read="THUDM/slime: scripts/models/nemotron-nano-30B-A3B.sh",
        ),
    ),
    axes={"num_tokens": var, "hidden": 2688, "inner": 1856, "experts": 128, "top_k": 6},
    inputs={
        "grad_y": activation("bfloat16[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "indices": activation("int32[num_tokens, top_k]", ROUTING["indices"]),
        "shares": activation("float32[num_tokens, top_k]", ROUTING["weights"]),
        "up": weight("bfloat16[experts, inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[experts, hidden, inner]", draw.weight_matrix()),
    },
    outputs={"grad_x": "bfloat16[num_tokens, hidden]", "grad_shares": "float32[num_tokens, top_k]"},
    gradient=Gradient(
        "forward", ("x", "indices", "shares", "up", "down"), ("grad_y",), ("x", "shares")
    ),
    workloads=rows(
        "num_tokens", *(16, 32, 64, 100, 128, 256, 500, 512, 1024, 1500, 2000, 2048, 2500, 3000, 3500, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 64, 48, 6, 2), (24, 96, 64, 8, 4)),
)  # fmt: skip

import torch


def by_expert(indices, experts):
    """Copies of tokens in the order of their experts, and how many each expert has."""
    chosen = indices.flatten()
    return chosen.argsort(stable=True), torch.bincount(chosen, minlength=experts).tolist()


def multiply(left, right):
    """The product of 16-bit matrices, its sums not rounded."""
    return left.to(torch.float32) @ right.to(torch.float32)


def forward(x, indices, shares, up, down):
    order, lengths = by_expert(indices, up.shape[0])
    tokens, results = order // indices.shape[1], []
    for expert, own in enumerate(x[tokens].split(lengths)):
        inner = torch.relu(multiply(own, up[expert].T)).pow(2).to(x.dtype)
        results.append(multiply(inner, down[expert].T))
    weighted = torch.cat(results) * shares.flatten()[order, None]
    zeros = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    return zeros.index_add(0, tokens, weighted).to(x.dtype)


def run(grad_y, x, indices, shares, up, down):
    order, lengths = by_expert(indices, up.shape[0])
    tokens, grad_rows, grad_shares = order // indices.shape[1], [], []
    sorted_inputs = (x[tokens], grad_y[tokens], shares.flatten()[order, None])
    groups = zip(*(each.split(lengths) for each in sorted_inputs), strict=True)
    for expert, (own, upstream, share) in enumerate(groups):
        positive = torch.relu(multiply(own, up[expert].T))
        unweighted = multiply(upstream, down[expert])
        grad_shares.append((unweighted * positive.pow(2)).sum(dim=-1))
        grad_product = (2.0 * positive * unweighted * share).to(x.dtype)
        grad_rows.append(multiply(grad_product, up[expert]))
    zeros = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    grad_x = zeros.index_add(0, tokens, torch.cat(grad_rows)).to(x.dtype)
    flat = torch.zeros_like(shares).flatten().index_copy(0, order, torch.cat(grad_shares))
    return grad_x, flat.view(shares.shape)
