"""Attention block of a linear diffusion transformer: projection, ReLU linear attention, output projection.

The state of 32 × 32 a head is summed in float32 and rounded. A gate per image scales the result.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="linear_attention_block_bf16_h2240",
    tier="L2",
    family="diffusion_block",
    models=(
        Model(
            "Efficient-Large-Model/Sana_1600M_1024px_diffusers",
            "num_attention_heads 70, attention_head_dim 32: hidden 2240",
            "diffusion", read="NVlabs/Sana: Sana_1600M_img1024.yaml, SanaMS_1600M_P1_D20",
        ),
    ),
    axes={"batch": var, "tokens": var, "heads": 70, "hidden": "heads * 32", "three": "3 * hidden"},
    inputs={
        "x": activation("bfloat16[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "normalised": activation("bfloat16[batch, tokens, hidden]", draw.normal(), ("scale",)),
        "opening": activation("bfloat16[batch, hidden]", draw.normal(), EVERY_KIND),
        "qkv_weight": weight("bfloat16[three, hidden]", draw.weight_matrix()),
        "output_weight": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("bfloat16[hidden]", draw.normal(std=0.2)),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "bfloat16[batch, tokens, hidden]"},
    workloads=rows(
        "batch tokens",
        (1, 256), (1, 1024), (1, 2304), (1, 4096), (2, 256), (2, 1024), (2, 1500), (3, 777),
        (4, 256), (4, 1024), (4, 4096), (8, 256), (8, 1024), (16, 256), (16, 1024), (32, 1024),
    ),
    smoke=rows("batch tokens heads", (2, 16, 2), (1, 50, 4)),
)  # fmt: skip

import torch


def run(x, normalised, opening, qkv_weight, output_weight, output_bias, heads):
    projected = (normalised @ qkv_weight.T).to(torch.float32).unflatten(-1, (3, heads, -1))
    query, key, value = projected.permute(2, 0, 3, 1, 4)
    query, key = torch.relu(query), torch.relu(key)
    total = key.sum(dim=-2, keepdim=True).transpose(-1, -2)
    state = (key.transpose(-1, -2) @ value).to(x.dtype).to(torch.float32)
    total = total.to(x.dtype).to(torch.float32)
    attended = (query @ state) / (query @ total + 1e-6)
    attended = attended.transpose(1, 2).flatten(2).to(x.dtype)
    return x + opening[:, None] * (attended @ output_weight.T + output_bias)
