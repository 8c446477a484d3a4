"""What one of eight ranks adds to a mixture-of-experts layer: its 16 of 128 experts, in float32.

Routing is global: the rank sees the scores of all experts, and the weights are normalised over all eight chosen
ones, wherever they live. The partial sums of all ranks are added later.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_expert_parallel_fp32_h4096_e128_r16",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "Qwen/Qwen3-235B-A22B",
            "hidden_size 4096, moe_intermediate_size 1536, num_experts 128, "
            "num_experts_per_tok 8; 16 experts a rank",
            read="zyzshishui/slime: scripts/models/qwen3-235B-A22B.sh",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 4096, "inner": 1536, "two_inner": "2 * inner",
        "experts": 128, "local": 16, "first": 48, "top_k": 8,
    },
    inputs={
        "x": activation("float32[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "scores": activation("float32[num_tokens, experts]", draw.router_logits()),
        "gate_up": weight("float32[local, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[local, hidden, inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
        "first": scalar("int32", "first"),
    },
    outputs={"partial": "float32[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(8, 16, 32, 48, 64, 100, 128, 256, 400, 512, 1024, 1500, 2048, 4096, 6000, 8192)
    ),
    smoke=rows(
        "num_tokens hidden inner experts local first top_k", (8, 64, 48, 8, 4, 2, 4), (30, 96, 64, 16, 4, 8, 4)
    ),
)  # fmt: skip

import torch


def run(x, scores, gate_up, down, top_k, first):
    best = torch.softmax(scores, dim=-1).topk(top_k, dim=-1)
    shares = best.values / best.values.sum(dim=-1, keepdim=True)
    partial = torch.zeros_like(x)
    for here in range(gate_up.shape[0]):
        tokens, choices = torch.where(best.indices == first + here)
        if tokens.numel() == 0:
            continue
        gate, up = (x[tokens] @ gate_up[here].T).chunk(2, dim=-1)
        result = (torch.nn.functional.silu(gate) * up) @ down[here].T
        partial.index_add_(0, tokens, result * shares[tokens, choices, None])
    return partial
