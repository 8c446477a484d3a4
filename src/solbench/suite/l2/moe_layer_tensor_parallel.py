"""One of eight ranks' slice of every expert, in float32: an eighth of the inner width of all 256.

All tokens and scores are on every rank; its result is a partial sum over inner channels. Sigmoid scores with
a bias that only chooses; weights normalised to one.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_tensor_parallel_fp32_h3072_e256_i192",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "MiniMaxAI/MiniMax-M2",
            "hidden_size 3072, intermediate_size 1536 over 8 ranks, num_local_experts 256, "
            "num_experts_per_tok 8",
            read="huggingface/transformers: configuration_minimax_m2.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 3072, "inner": 192, "two_inner": "2 * inner", "experts": 256, "top_k": 8,
    },
    inputs={
        "x": activation("float32[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "scores": activation("float32[num_tokens, experts]", draw.router_logits()),
        "correction": weight("float32[experts]", draw.correction_bias()),
        "gate_up": weight("float32[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"partial": "float32[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 32, 43, 64, 128, 256, 500, 512, 1024, 2048, 3000, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 64, 24, 8, 4), (20, 96, 32, 16, 8)),
)  # fmt: skip

import torch


def run(x, scores, correction, gate_up, down, top_k):
    probability = torch.sigmoid(scores)
    indices = (probability + correction).topk(top_k, dim=-1).indices
    shares = probability.gather(1, indices)
    shares = shares / shares.sum(dim=-1, keepdim=True)
    partial = torch.zeros_like(x)
    for expert in indices.unique().tolist():
        tokens, choices = torch.where(indices == expert)
        gate, up = (x[tokens] @ gate_up[expert].T).chunk(2, dim=-1)
        result = (torch.nn.functional.silu(gate) * up) @ down[expert].T
        partial.index_add_(0, tokens, result * shares[tokens, choices, None])
    return partial
