"""A mixture-of-experts layer with NVFP4 experts: softmax router, SwiGLU experts on their tokens, weighted sum.

The router stays in bfloat16; each expert's two matrices have global scales of their own.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

FIRST = draw.nvfp4_expert_blocks(experts="experts", rows="two_inner", columns="hidden")
SECOND = draw.nvfp4_expert_blocks(experts="experts", rows="hidden", columns="inner", label="down")
PROBLEM = Problem(
    name="nvfp4_moe_layer_h4096_i1536_e128_k8",
    tier="Quant",
    family="moe",
    models=(
        Model(
            "nvidia/Qwen3-235B-A22B-FP4",
            "hidden_size 4096, moe_intermediate_size 1536, num_experts 128, "
            "num_experts_per_tok 8",
            read="its base model: zyzshishui/slime: scripts/models/qwen3-235B-A22B.sh",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 4096, "inner": 1536, "two_inner": "2 * inner", "experts": 128, "top_k": 8,
        "packed_hidden": "hidden // 2", "hidden_blocks": "hidden // 16",
        "packed_inner": "inner // 2", "inner_blocks": "inner // 16",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), ("sign",)),
        "router": weight("bfloat16[experts, hidden]", draw.weight_matrix()),
        "gate_up": weight("float4_e2m1fn_x2[experts, two_inner, packed_hidden]", FIRST["values"]),
        "gate_up_scales": weight("float8_e4m3fn[experts, two_inner, hidden_blocks]", FIRST["scales"]),
        "gate_up_global": weight("float32[experts]", FIRST["global_scale"]),
        "down": weight("float4_e2m1fn_x2[experts, hidden, packed_inner]", SECOND["values"]),
        "down_scales": weight("float8_e4m3fn[experts, hidden, inner_blocks]", SECOND["scales"]),
        "down_global": weight("float32[experts]", SECOND["global_scale"]),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 16, 27, 32, 64, 128, 200, 256, 512, 1024, 2048, 3000, 4096)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 128, 48, 8, 2), (24, 256, 32, 16, 4)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(x, router, gate_up, gate_up_scales, gate_up_global, down, down_scales, down_global, top_k):
    wide = x.to(torch.float32)
    best = torch.softmax(wide @ router.to(torch.float32).T, dim=-1).topk(top_k)
    shares = best.values / best.values.sum(dim=-1, keepdim=True)
    total = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    for expert in range(router.shape[0]):
        tokens, choices = torch.where(best.indices == expert)
        if tokens.numel() == 0:
            continue
        first = (
            wide[tokens]
            @ scaled(gate_up[expert], gate_up_scales[expert]).T
            * gate_up_global[expert]
        )
        gate, up = first.chunk(2, dim=-1)
        inner = (torch.nn.functional.silu(gate) * up).to(x.dtype).to(torch.float32)
        result = inner @ scaled(down[expert], down_scales[expert]).T * down_global[expert]
        total.index_add_(0, tokens, result * shares[tokens, choices, None])
    return total.to(x.dtype)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
