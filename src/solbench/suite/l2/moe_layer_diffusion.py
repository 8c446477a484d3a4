"""The mixture of experts in a block of an image diffusion transformer, in float32.

LayerNorm without parameters, shifted and scaled by the time step; two of four experts and a smaller shared one;
a gate of the time step; residual.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_diffusion_fp32_h2560_e4_k2",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "HiDream-ai/HiDream-I1-Full",
            "20 heads × attention_head_dim 128: hidden 2560; num_routed_experts 4, "
            "num_activated_experts 2; two thirds of four (shared: two) times the width, "
            "rounded up to 256: 6912 and 3584",
            "diffusion", read="huggingface/diffusers: transformer_hidream_image.py",
        ),
        Model(
            "HiDream-ai/HiDream-I1-Dev",
            "distilled from HiDream-I1-Full, of its sizes",
            "diffusion", read="its base model: huggingface/diffusers: transformer_hidream_image.py",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "hidden": 2560, "inner": 6912, "shared_inner": 3584, "experts": 4,
        "top_k": 2, "two_inner": "2 * inner", "two_shared": "2 * shared_inner",
    },
    inputs={
        "x": activation("float32[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "scores": activation("float32[batch, tokens, experts]", draw.router_logits(skew=0.3)),
        "shift": activation("float32[batch, 1, hidden]", draw.normal(std=0.3)),
        "scale": activation("float32[batch, 1, hidden]", draw.normal(std=0.3)),
        "opening": activation("float32[batch, 1, hidden]", draw.normal(mean=0.5, std=0.3)),
        "gate_up": weight("float32[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
        "shared_gate_up": weight("float32[two_shared, hidden]", draw.weight_matrix()),
        "shared_down": weight("float32[hidden, shared_inner]", draw.weight_matrix()),
        "top_k": scalar("int32", "top_k"),
    },
    outputs={"y": "float32[batch, tokens, hidden]"},
    workloads=rows(
        "batch tokens",
        (1, 256), (1, 576), (1, 1024), (1, 1500), (1, 2304), (1, 4096), (2, 256), (2, 777),
        (2, 1024), (2, 4096), (3, 1024), (4, 256), (4, 1024), (4, 2304), (8, 256), (8, 1024),
    ),
    smoke=rows("batch tokens hidden inner shared_inner", (2, 5, 64, 96, 48), (1, 20, 96, 128, 64)),
)  # fmt: skip

import torch


def run(x, scores, shift, scale, opening, gate_up, down, shared_gate_up, shared_down, top_k):
    centred = x - x.mean(dim=-1, keepdim=True)
    normalised = centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    tokens = (normalised * (1.0 + scale) + shift).flatten(0, 1)
    best = torch.softmax(scores.flatten(0, 1), dim=-1).topk(top_k, dim=-1)
    added = mlp(tokens, shared_gate_up, shared_down)
    for expert in range(gate_up.shape[0]):
        places, choices = torch.where(best.indices == expert)
        result = mlp(tokens[places], gate_up[expert], down[expert])
        added = added.index_add(0, places, result * best.values[places, choices, None])
    return x + opening * added.view(x.shape)


def mlp(x, gate_up, down):
    gate, up = (x @ gate_up.T).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up) @ down.T
