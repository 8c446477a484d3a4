"""Softmax router: the 8 likeliest of 128 experts a token, their probabilities made to sum to one."""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="moe_router_softmax_fp32_e128_k8",
    tier="L1",
    family="moe",
    models=(
        Model(
            "Qwen/Qwen3-30B-A3B",
            "num_experts 128, num_experts_per_tok 8, norm_topk_prob true",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
        Model(
            "Qwen/Qwen3-235B-A22B",
            "num_experts 128, num_experts_per_tok 8, norm_topk_prob true",
            read="zyzshishui/slime: scripts/models/qwen3-235B-A22B.sh",
        ),
    ),
    axes={"num_tokens": var, "experts": 128, "top_k": 8},
    inputs={
        "logits": activation("float32[num_tokens, experts]", draw.router_logits()),
        "top_k": scalar("int32", "top_k"),
    },
    fixed_values="scores changed by a kind could tie, and no kernel can be asked to break a tie alike",
    outputs={"weights": "float32[num_tokens, top_k]", "indices": "int32[num_tokens, top_k]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 50, 64, 128, 256, 512, 1000, 1024, 2048, 4096, 8192, 16384, 65536)
    ),
    smoke=rows("num_tokens experts top_k", (6, 16, 4), (40, 128, 8)),
)  # fmt: skip

import torch


def run(logits, top_k):
    best = torch.softmax(logits, dim=-1).topk(top_k, dim=-1)
    return best.values / best.values.sum(dim=-1, keepdim=True), best.indices.to(torch.int32)
