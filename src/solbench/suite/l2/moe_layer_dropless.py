"""A mixture-of-experts layer that sorts its tokens by expert, and drops none: one ragged group an expert.

Two experts of sixteen see a token. Their softmax probabilities are used as they are and sum to less than one.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_dropless_bf16_h4096_e16_k2",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "ai21labs/Jamba-v0.1",
            "hidden_size 4096, intermediate_size 14336, num_experts 16, num_experts_per_tok 2",
            read="huggingface/transformers: configuration_jamba.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 4096, "inner": 14336, "two_inner": "2 * inner", "experts": 16, "top_k": 2,
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "scores": activation("float32[num_tokens, experts]", draw.router_logits(skew=0.5)),
        "gate_up": weight("bfloat16[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[experts, hidden, inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 32, 55, 64, 128, 256, 500, 512, 1024, 2048, 3000, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (7, 64, 96, 4, 2), (30, 96, 128, 8, 2)),
)  # fmt: skip

import torch


def run(x, scores, gate_up, down, top_k):
    best = torch.softmax(scores, dim=-1).topk(top_k, dim=-1)
    order = best.indices.flatten().argsort(stable=True)
    tokens = order // top_k
    lengths = torch.bincount(best.indices.flatten(), minlength=scores.shape[1]).tolist()
    results = [
        mlp(group, gate_up[expert], down[expert])
        for expert, group in enumerate(x[tokens].split(lengths))
        if lengths[expert]
    ]
    weighted = torch.cat(results).to(torch.float32) * best.values.flatten()[order, None]
    total = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    return total.index_add_(0, tokens, weighted).to(x.dtype)


def mlp(x, gate_up, down):
    gate, up = (x @ gate_up.T).to(torch.float32).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up).to(x.dtype) @ down.T
