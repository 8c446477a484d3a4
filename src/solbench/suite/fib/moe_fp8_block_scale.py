"""Mixture of experts in FP8, one of eight expert-parallel ranks: group-limited routing, two scaled GEMMs.

Routing: sigmoid scores plus a bias choose 4 of 8 groups (by the sum of a group's two best), then 8 experts
among them; the weights are the scores without the bias, normalised and scaled. This rank holds 32 of the 256
experts.
Activations have a scale for each 128 channels of a token, weights one for each block of 128 by 128.
Inner values are kept in bfloat16.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

HIDDEN = draw.fp8_blocks(rows="num_tokens", columns="hidden_size", block_rows=1)
FIRST = draw.fp8_expert_blocks(experts="num_local_experts", rows="two_inner", columns="hidden_size")
SECOND = draw.fp8_expert_blocks(
    experts="num_local_experts", rows="hidden_size", columns="inner_size"
)
PROBLEM = Problem(
    name="moe_fp8_block_scale_ds_routing_topk8_ng8_kg4_e32_h7168_i2048",
    tier="FIB",
    family="moe",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "hidden_size 7168, moe_intermediate_size 2048, n_routed_experts 256, n_group 8, "
            "topk_group 4, num_experts_per_tok 8, routed_scaling_factor 2.5, weight_block_size"
            " 128 × 128",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_tokens": var, "num_experts": 256, "num_local_experts": 32,
        "hidden_size": 7168, "inner_size": 2048, "two_inner": "2 * inner_size",
        "hidden_blocks": "hidden_size // 128", "inner_blocks": "inner_size // 128",
        "two_inner_blocks": "2 * inner_blocks",
    },
    inputs={
        "router_logits": activation("float32[num_tokens, num_experts]", draw.router_logits()),
        "routing_bias": weight("float32[num_experts]", draw.correction_bias()),
        "hidden_states": activation("float8_e4m3fn[num_tokens, hidden_size]", HIDDEN["values"]),
        "hidden_scales": activation(
            "float32[num_tokens, hidden_blocks]", HIDDEN["scales"], ("scale", "outliers")
        ),
        "gate_up_weights": weight(
            "float8_e4m3fn[num_local_experts, two_inner, hidden_size]", FIRST["values"]
        ),
        "gate_up_scales": weight(
            "float32[num_local_experts, two_inner_blocks, hidden_blocks]", FIRST["scales"]
        ),
        "down_weights": weight(
            "float8_e4m3fn[num_local_experts, hidden_size, inner_size]", SECOND["values"]
        ),
        "down_scales": weight(
            "float32[num_local_experts, hidden_blocks, inner_blocks]", SECOND["scales"]
        ),
        "first_expert": scalar("int32", 0),
        "routed_scaling": scalar("float32", 2.5),
    },
    outputs={"output": "bfloat16[num_tokens, hidden_size]"},
    workloads=rows(
        "num_tokens", 1, 7, 14, 16, 32, 52, 64, 80, 128, 256, 901, 1024, 2048, 4096, 8192, 11948
    ),
    smoke=rows(
        "num_tokens num_experts num_local_experts hidden_size inner_size",
        (16, 32, 8, 256, 128), (33, 64, 16, 128, 256),
    ),
)  # fmt: skip

import torch


def run(
    router_logits, routing_bias, hidden_states, hidden_scales, gate_up_weights, gate_up_scales,
    down_weights, down_scales, first_expert, routed_scaling,
):  # fmt: skip
    chosen, weights = route(router_logits, routing_bias, routed_scaling)
    hidden = hidden_states.to(torch.float32) * hidden_scales.repeat_interleave(128, dim=1)
    output = torch.zeros(hidden.shape, dtype=torch.float32, device=hidden.device)
    for local in range(gate_up_weights.shape[0]):
        tokens, slots = torch.where(chosen == first_expert + local)
        if tokens.numel() == 0:
            continue
        gate_up = hidden[tokens] @ dequantise(gate_up_weights[local], gate_up_scales[local]).T
        gate, up = gate_up.chunk(2, dim=-1)
        inner = (torch.nn.functional.silu(gate) * up).to(torch.bfloat16).to(torch.float32)
        result = inner @ dequantise(down_weights[local], down_scales[local]).T
        output.index_add_(0, tokens, result * weights[tokens, slots, None])
    return output.to(torch.bfloat16)


def route(router_logits, routing_bias, routed_scaling, groups=8, kept_groups=4, top_k=8):
    tokens, experts = router_logits.shape
    scores = torch.sigmoid(router_logits)
    biased = scores + routing_bias
    grouped = biased.view(tokens, groups, experts // groups)
    group_scores = grouped.topk(2, dim=-1).values.sum(dim=-1)
    best_groups = group_scores.topk(kept_groups, dim=-1).indices
    kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(1, best_groups, True)
    biased = grouped.masked_fill(~kept[:, :, None], float("-inf")).view(tokens, experts)
    chosen = biased.topk(top_k, dim=-1).indices
    weights = scores.gather(1, chosen)
    return chosen, weights / weights.sum(dim=-1, keepdim=True) * routed_scaling


def dequantise(codes, scales):
    """Codes (m, n) with a scale for each block of 128 by 128."""
    wide = scales.repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)
    return codes.to(torch.float32) * wide
