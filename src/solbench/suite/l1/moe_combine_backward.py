"""Backward of the weighted sum over experts: gradients of every expert's row and of the routing weights."""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PLACES = draw.page_table(sequences=1, used="copies", pool="copies")
PROBLEM = Problem(
    name="moe_combine_backward_bf16_h3072_k8",
    tier="L1",
    family="moe",
    direction="backward",
    models=(
        Model(
            "MiniMaxAI/MiniMax-M2",
            "hidden_size 3072, num_local_experts 256, num_experts_per_tok 8",
            read="huggingface/transformers: configuration_minimax_m2.py",
        ),
    ),
    axes={"num_tokens": var, "hidden": 3072, "experts": 256, "top_k": 8, "copies": "num_tokens * top_k"},
    inputs={
        "grad_output": activation("bfloat16[num_tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "expert_rows": activation("bfloat16[copies, hidden]", draw.normal(), EVERY_KIND),
        "places": activation("int32[copies]", PLACES["indices"]),
        "weights": activation("float32[num_tokens, top_k]", ROUTING["weights"]),
    },
    outputs={"grad_rows": "bfloat16[copies, hidden]", "grad_weights": "float32[num_tokens, top_k]"},
    gradient=Gradient(
        "forward", ("expert_rows", "places", "weights"), ("grad_output",), ("expert_rows", "weights")
    ),
    workloads=rows(
        "num_tokens", *(8, 32, 64, 128, 256, 300, 512, 777, 1024, 1500, 2048, 3000, 4096, 6000, 8192, 16384)
    ),
    smoke=rows("num_tokens hidden experts top_k", (6, 64, 8, 2), (24, 256, 16, 8)),
)  # fmt: skip

import torch


def forward(expert_rows, places, weights):
    gathered = expert_rows[places.long()].unflatten(0, weights.shape).to(torch.float32)
    return (gathered * weights[..., None]).sum(dim=1).to(expert_rows.dtype)


def run(grad_output, expert_rows, places, weights):
    upstream = grad_output.to(torch.float32)[:, None]
    gathered = expert_rows[places.long()].unflatten(0, weights.shape).to(torch.float32)
    spread = (upstream * weights[..., None]).flatten(0, 1).to(expert_rows.dtype)
    grad_rows = torch.zeros_like(expert_rows).index_copy(0, places.long(), spread)
    return grad_rows, (upstream * gathered).sum(dim=-1)
