"""A mixture of experts without gates: squared ReLU between two products, beside a wider shared expert.

The router scores with sigmoids. A learnt bias helps to choose and does not enter the weights, which are
normalised and multiplied by 2.5.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_squared_relu_bf16_h2688_e128_k6",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
            "hidden_size 2688, n_routed_experts 128, num_experts_per_tok 6, "
            "moe_intermediate_size 1856, moe_shared_expert_intermediate_size 3712, "
            "routed_scaling_factor 2.5, mlp_hidden_act relu2",
            read="THUDM/slime: scripts/models/nemotron-nano-30B-A3B.sh",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2688, "inner": 1856, "shared_inner": 3712, "experts": 128, "top_k": 6,
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "scores": activation("float32[num_tokens, experts]", draw.router_logits()),
        "correction": weight("float32[experts]", draw.correction_bias()),
        "up": weight("bfloat16[experts, inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[experts, hidden, inner]", draw.weight_matrix()),
        "shared_up": weight("bfloat16[shared_inner, hidden]", draw.weight_matrix()),
        "shared_down": weight("bfloat16[hidden, shared_inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 32, 37, 64, 128, 256, 300, 512, 1024, 2048, 4096, 6000)
    ),
    smoke=rows(
        "num_tokens hidden inner shared_inner experts top_k", (6, 64, 48, 96, 8, 2), (24, 96, 64, 128, 16, 6)
    ),
)  # fmt: skip

import torch


def run(x, scores, correction, up, down, shared_up, shared_down, top_k):
    probability = torch.sigmoid(scores)
    indices = (probability + correction).topk(top_k, dim=-1).indices
    shares = probability.gather(1, indices)
    shares = shares / shares.sum(dim=-1, keepdim=True) * 2.5
    total = mlp(x, shared_up, shared_down)
    for expert in range(scores.shape[1]):
        tokens, choices = torch.where(indices == expert)
        if tokens.numel() == 0:
            continue
        result = mlp(x[tokens], up[expert], down[expert])
        total = total.index_add(0, tokens, result * shares[tokens, choices, None])
    return total.to(x.dtype)


def mlp(x, up, down):
    inner = torch.relu((x @ up.T).to(torch.float32)).pow(2)
    return (inner.to(x.dtype) @ down.T).to(torch.float32)
