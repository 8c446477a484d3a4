"""Backward of a softmax router that normalises its chosen probabilities: gradient of all logits.

The normalised weights are a softmax over the chosen logits alone, so experts that were not chosen get zero.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

CHOSEN = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PROBLEM = Problem(
    name="moe_router_backward_fp32_e160_k8",
    tier="L1",
    family="moe",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-Coder-480B-A35B-Instruct",
            "num_experts 160, num_experts_per_tok 8, norm_topk_prob true",
            read="zyzshishui/miles: scripts/models/qwen3-coder-480B-A35B.sh",
        ),
    ),
    axes={"num_tokens": var, "experts": 160, "top_k": 8},
    inputs={
        "grad_weights": activation("float32[num_tokens, top_k]", draw.normal(), EVERY_KIND),
        "logits": activation("float32[num_tokens, experts]", draw.router_logits()),
        "indices": activation("int32[num_tokens, top_k]", CHOSEN["indices"]),
    },
    outputs={"grad_logits": "float32[num_tokens, experts]"},
    gradient=Gradient("route", ("logits", "indices"), ("grad_weights",), ("logits",)),
    workloads=rows(
        "num_tokens",
        *(16, 64, 128, 256, 500, 512, 1000, 1024, 2048, 3000, 4096, 8192, 10000, 16384, 32768, 65536),
    ),
    smoke=rows("num_tokens experts top_k", (6, 16, 4), (40, 160, 8)),
)  # fmt: skip

import torch


def route(logits, indices):
    chosen = torch.softmax(logits, dim=-1).gather(1, indices.long())
    return chosen / chosen.sum(dim=-1, keepdim=True)


def run(grad_weights, logits, indices):
    weights = torch.softmax(logits.gather(1, indices.long()), dim=-1)
    along = (grad_weights * weights).sum(dim=-1, keepdim=True)
    grad_chosen = weights * (grad_weights - along)
    return torch.zeros_like(logits).scatter_add(1, indices.long(), grad_chosen)
