"""A mixture-of-experts layer with a shared expert: sigmoid router, correction bias, group limit.

Four of eight groups of experts may be used by a token; the shared expert sees every token.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_shared_bf16_h2048_e256_k8",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "inclusionAI/Ling-mini-2.0",
            "hidden_size 2048, moe_intermediate_size 512, num_experts 256, num_experts_per_tok"
            " 8, n_group 8, topk_group 4, num_shared_experts 1, routed_scaling_factor 2.5",
            read="NVIDIA-NeMo/Megatron-Bridge: configuration_bailing_moe_v2.py; ostris/ai-toolkit: ming_image",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 512, "two_inner": "2 * inner", "experts": 256, "top_k": 8,
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), ("sign",)),
        "router": weight("float32[experts, hidden]", draw.weight_matrix()),
        "correction": weight("float32[experts]", draw.correction_bias()),
        "gate_up": weight("bfloat16[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[experts, hidden, inner]", draw.weight_matrix()),
        "shared_gate_up": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "shared_down": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 23, 32, 64, 100, 128, 256, 512, 1024, 1500, 2048, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 64, 32, 16, 4), (20, 128, 48, 32, 8)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(x, router, correction, gate_up, down, shared_gate_up, shared_down, top_k):
    shares, indices = route(x.to(torch.float32) @ router.T, correction, top_k)
    total = mlp(x, shared_gate_up, shared_down)
    for expert in range(router.shape[0]):
        tokens, choices = torch.where(indices == expert)
        if tokens.numel() == 0:
            continue
        result = mlp(x[tokens], gate_up[expert], down[expert]) * shares[tokens, choices, None]
        total = total.index_add(0, tokens, result)
    return total.to(x.dtype)


def mlp(x, gate_up, down):
    gate, up = (x @ gate_up.T).to(torch.float32).chunk(2, dim=-1)
    return ((functional.silu(gate) * up).to(x.dtype) @ down.T).to(torch.float32)


def route(logits, correction, top_k, groups=8, kept_groups=4):
    scores = torch.sigmoid(logits)
    grouped = (scores + correction).unflatten(1, (groups, -1))
    strength = grouped.topk(2, dim=-1).values.sum(dim=-1)
    kept = torch.zeros_like(strength, dtype=torch.bool)
    kept = kept.scatter(1, strength.topk(kept_groups, dim=-1).indices, True)
    allowed = grouped.masked_fill(~kept[:, :, None], float("-inf")).flatten(1)
    indices = allowed.topk(top_k, dim=-1).indices
    weights = scores.gather(1, indices)
    return weights / weights.sum(dim=-1, keepdim=True) * 2.5, indices
