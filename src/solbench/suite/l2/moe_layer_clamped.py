"""A mixture-of-experts layer with biases and a clamped SwiGLU, from the router's scores on.

Gate and up rows of a product alternate. The gate is cut at 7 from above, the up value at 7 from both sides; the
sigmoid is steepened by 1.702. Routing weights are a softmax over the chosen scores alone.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_clamped_bf16_h2880_e32_k4",
    tier="L2",
    family="moe_layer",
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
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(std=2.5), EVERY_KIND),
        "scores": activation("float32[num_tokens, experts]", draw.router_logits()),
        "gate_up": weight("bfloat16[experts, two_inner, hidden]", draw.weight_matrix()),
        "gate_up_bias": weight("bfloat16[experts, two_inner]", draw.normal(std=0.5)),
        "down": weight("bfloat16[experts, hidden, inner]", draw.weight_matrix()),
        "down_bias": weight("bfloat16[experts, hidden]", draw.normal(std=0.5)),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 29, 32, 64, 128, 250, 256, 512, 1024, 2048, 4096, 8192)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 64, 48, 8, 2), (20, 96, 64, 16, 4)),
)  # fmt: skip

import torch


def run(x, scores, gate_up, gate_up_bias, down, down_bias, top_k):
    best = scores.topk(top_k, dim=-1)
    shares = torch.softmax(best.values, dim=-1)
    total = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    for expert in range(scores.shape[1]):
        tokens, choices = torch.where(best.indices == expert)
        if tokens.numel() == 0:
            continue
        inner = activate(x[tokens] @ gate_up[expert].T + gate_up_bias[expert])
        result = inner @ down[expert].T + down_bias[expert]
        total.index_add_(0, tokens, result.to(torch.float32) * shares[tokens, choices, None])
    return total.to(x.dtype)


def activate(product):
    """Gate and up values alternate in a row."""
    gate = product[:, 0::2].to(torch.float32).clamp(max=7.0)
    up = product[:, 1::2].to(torch.float32).clamp(min=-7.0, max=7.0)
    return (gate * torch.sigmoid(1.702 * gate) * (up + 1.0)).to(product.dtype)
