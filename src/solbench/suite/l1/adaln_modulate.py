"""Adaptive LayerNorm of a diffusion transformer: LayerNorm without gain, then a scale and a shift per image.

Scale and shift come from the timestep; they are the same for all tokens of an image.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="adaln_modulate_bf16_h3072",
    tier="L1",
    family="norm",
    models=(
        Model(
            "black-forest-labs/FLUX.1-dev",
            "24 heads × attention_head_dim 128",
            "diffusion", read="black-forest-labs/flux: src/flux/util.py",
        ),
        Model(
            "black-forest-labs/FLUX.1-Fill-dev",
            "24 heads × attention_head_dim 128",
            "diffusion", read="its base model: black-forest-labs/flux: src/flux/util.py",
        ),
        Model(
            "Qwen/Qwen-Image-Edit",
            "24 heads × attention_head_dim 128",
            "diffusion", read="its base model: xzuyn/musubi-tuner: qwen_image_model.py",
        ),
        Model(
            "stepfun-ai/Step1X-Edit",
            "hidden_size 3072: 24 heads of 128",
            "diffusion", read="stepfun-ai/Step1X-Edit: inference.py, Step1XParams",
        ),
        Model(
            "Qwen/Qwen-Image-Edit-2509",
            "24 heads × attention_head_dim 128",
            "diffusion", read="its base model: xzuyn/musubi-tuner: qwen_image_model.py",
        ),
    ),
    axes={"batch": var, "tokens": var, "hidden": 3072},
    inputs={
        "x": activation("bfloat16[batch, tokens, hidden]", draw.residual_stream(), EVERY_KIND),
        "shift": activation("bfloat16[batch, hidden]", draw.normal(std=0.3), EVERY_KIND),
        "scale": activation("bfloat16[batch, hidden]", draw.normal(std=0.3), EVERY_KIND),
        "eps": scalar("float32", 1e-6),
    },
    outputs={"y": "bfloat16[batch, tokens, hidden]"},
    workloads=rows(
        "batch tokens",
        (1, 512), (1, 1024), (1, 4096), (1, 4608), (2, 333), (2, 4608), (2, 1536), (3, 2500),
        (4, 1024), (4, 4608), (6, 777), (8, 512), (8, 4096), (16, 1024), (16, 4608), (32, 1280),
    ),
    smoke=rows("batch tokens hidden", (2, 5, 256), (3, 16, 768)),
)  # fmt: skip

import torch


def run(x, shift, scale, eps):
    wide = x.to(torch.float32)
    centred = wide - wide.mean(dim=-1, keepdim=True)
    normalised = centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps)
    modulated = (
        normalised * (1.0 + scale.to(torch.float32)[:, None]) + shift.to(torch.float32)[:, None]
    )
    return modulated.to(x.dtype)
