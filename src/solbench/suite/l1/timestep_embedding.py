"""Embedding of diffusion timesteps: 128 cosines, 128 sines, then a two-layer network with SiLU."""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="timestep_embedding_bf16_h3072",
    tier="L1",
    family="positional",
    models=(
        Model(
            "black-forest-labs/FLUX.1-schnell",
            "24 heads × attention_head_dim 128",
            "diffusion", read="black-forest-labs/flux: src/flux/util.py",
        ),
        Model(
            "hunyuanvideo-community/HunyuanVideo",
            "24 heads × attention_head_dim 128",
            "video", read="HunyuanVideo: hyvideo/modules/models.py",
        ),
    ),
    axes={"batch": var, "waves": 256, "hidden": 3072},
    inputs={
        "timesteps": activation("float32[batch]", draw.uniform(high=1.0)),
        "first": weight("bfloat16[hidden, waves]", draw.weight_matrix()),
        "first_bias": weight("bfloat16[hidden]", draw.normal(std=0.2)),
        "second": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "second_bias": weight("bfloat16[hidden]", draw.normal(std=0.2)),
    },
    fixed_values="a time lies between 0 and 1000",
    outputs={"embedding": "bfloat16[batch, hidden]"},
    workloads=rows("batch", *(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 128, 256, 512)),
    smoke=rows("batch waves hidden", (3, 32, 256), (7, 256, 512)),
)  # fmt: skip

import math

import torch


def run(timesteps, first, first_bias, second, second_bias):
    half = first.shape[1] // 2
    place = torch.arange(half, device=timesteps.device).to(torch.float32)
    angle = 1000.0 * timesteps[:, None] * torch.exp(-math.log(10000.0) * place / half)
    waves = torch.cat([angle.cos(), angle.sin()], dim=-1).to(first.dtype)
    hidden = waves @ first.T + first_bias
    return torch.nn.functional.silu(hidden) @ second.T + second_bias
