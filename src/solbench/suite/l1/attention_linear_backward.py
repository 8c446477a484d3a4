"""Backward of non-causal linear attention with ReLU features, in float32: three gradients, no quadratic matrix.

The 32 × 32 state and the sum of keys are recomputed; they are small.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="attention_linear_backward_fp32_h70_d32",
    tier="L1",
    family="attention",
    direction="backward",
    models=(
        Model(
            "Efficient-Large-Model/Sana_1600M_512px_diffusers",
            "num_attention_heads 70, attention_head_dim 32",
            "diffusion", read="NVlabs/Sana: Sana_1600M_img1024.yaml, SanaMS_1600M_P1_D20",
        ),
    ),
    axes={"batch": var, "tokens": var, "heads": 70, "head_dim": 32},
    inputs={
        "grad_output": activation("float32[batch, heads, tokens, head_dim]", draw.normal(std=0.1), EVERY_KIND),
        "query": activation("float32[batch, heads, tokens, head_dim]", draw.normal(mean=0.5), ("scale",)),
        "key": activation("float32[batch, heads, tokens, head_dim]", draw.normal(mean=0.5), ("scale",)),
        "value": activation("float32[batch, heads, tokens, head_dim]", draw.normal(), EVERY_KIND),
    },
    outputs={
        "grad_query": "float32[batch, heads, tokens, head_dim]",
        "grad_key": "float32[batch, heads, tokens, head_dim]",
        "grad_value": "float32[batch, heads, tokens, head_dim]",
    },
    gradient=Gradient("forward", ("query", "key", "value"), ("grad_output",), ("query", "key", "value")),
    workloads=rows(
        "batch tokens",
        (1, 64), (1, 256), (1, 576), (1, 1024), (1, 4096), (2, 256), (2, 1024), (3, 333),
        (4, 256), (4, 1024), (4, 4096), (8, 256), (8, 1000), (16, 256), (16, 1024), (32, 256),
    ),
    smoke=rows("batch tokens heads", (2, 12, 3), (1, 80, 4)),
)  # fmt: skip

import torch


def forward(query, key, value):
    numerator, denominator = totals(torch.relu(query), torch.relu(key), value)
    return numerator / denominator


def totals(query, key, value):
    total = key.sum(dim=-2, keepdim=True).transpose(-1, -2)
    return query @ (key.transpose(-1, -2) @ value), query @ total + 1e-6


def run(grad_output, query, key, value):
    positive_query, positive_key = torch.relu(query), torch.relu(key)
    state = positive_key.transpose(-1, -2) @ value
    total = positive_key.sum(dim=-2, keepdim=True)
    numerator, denominator = totals(positive_query, positive_key, value)
    upstream = grad_output / denominator
    # What a larger denominator takes away: one number a token.
    taken = -(grad_output * numerator).sum(dim=-1, keepdim=True) / denominator.pow(2)
    grad_query = (upstream @ state.transpose(-1, -2) + taken * total) * (query > 0)
    grad_state = positive_query.transpose(-1, -2) @ upstream
    grad_total = (positive_query * taken).sum(dim=-2, keepdim=True)
    grad_key = (value @ grad_state.transpose(-1, -2) + grad_total) * (key > 0)
    return grad_query, grad_key, positive_key @ grad_state
