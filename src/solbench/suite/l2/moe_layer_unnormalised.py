"""A mixture-of-experts layer in float32 that keeps the softmax probabilities of its eight experts as they are.

RMSNorm before the experts, residual after them; the router's scores come in.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_unnormalised_fp32_h2048_e64_k8",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "allenai/OLMoE-1B-7B-0924",
            "hidden_size 2048, intermediate_size 1024, num_experts 64, num_experts_per_tok 8, "
            "norm_topk_prob false",
            read="NVIDIA-NeMo/Megatron-Bridge: docs/models/llm/olmoe.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 1024, "two_inner": "2 * inner", "experts": 64, "top_k": 8,
    },
    inputs={
        "x": activation("float32[num_tokens, hidden]", draw.residual_stream(), EVERY_KIND),
        "scores": activation("float32[num_tokens, experts]", draw.router_logits()),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "gate_up": weight("float32[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "float32[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 21, 32, 64, 128, 256, 333, 512, 1024, 2048, 4096, 8192)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 64, 48, 8, 4), (25, 96, 64, 16, 8)),
)  # fmt: skip

import torch


def run(x, scores, gain, gate_up, down, top_k):
    normalised = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-5) * gain
    best = torch.softmax(scores, dim=-1).topk(top_k, dim=-1)
    y = x.clone()
    for expert in range(scores.shape[1]):
        tokens, choices = torch.where(best.indices == expert)
        if tokens.numel() == 0:
            continue
        gate, up = (normalised[tokens] @ gate_up[expert].T).chunk(2, dim=-1)
        result = (torch.nn.functional.silu(gate) * up) @ down[expert].T
        y.index_add_(0, tokens, result * best.values[tokens, choices, None])
    return y
