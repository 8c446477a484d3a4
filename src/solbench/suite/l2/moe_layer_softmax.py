"""A mixture-of-experts layer: norm, softmax router, SwiGLU experts on their tokens, weighted sum, residual."""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_softmax_bf16_h2048_e128_k8",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "Qwen/Qwen3-30B-A3B",
            "hidden_size 2048, moe_intermediate_size 768, num_experts 128, num_experts_per_tok"
            " 8",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 768, "two_inner": "2 * inner", "experts": 128, "top_k": 8,
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), ("sign",)),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "router": weight("bfloat16[experts, hidden]", draw.weight_matrix()),
        "gate_up": weight("bfloat16[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[experts, hidden, inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 27, 32, 64, 128, 200, 256, 512, 1024, 2048, 4096, 8192)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 64, 48, 8, 2), (24, 128, 32, 16, 4)),
)  # fmt: skip

import torch


def run(x, gain, router, gate_up, down, top_k):
    wide = x.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    normalised = (wide * scale * gain.to(torch.float32)).to(x.dtype)
    best = torch.softmax(normalised.to(torch.float32) @ router.to(torch.float32).T, dim=-1).topk(
        top_k
    )
    shares = best.values / best.values.sum(dim=-1, keepdim=True)
    total = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    for expert in range(router.shape[0]):
        tokens, choices = torch.where(best.indices == expert)
        if tokens.numel() == 0:
            continue
        gate, up = (normalised[tokens] @ gate_up[expert].T).to(torch.float32).chunk(2, dim=-1)
        inner = (torch.nn.functional.silu(gate) * up).to(x.dtype)
        result = (inner @ down[expert].T).to(torch.float32) * shares[tokens, choices, None]
        total.index_add_(0, tokens, result)
    return (wide + total).to(x.dtype)
