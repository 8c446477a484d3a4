"""Gemma's sandwich: normalise a sublayer's output, add it to the residual, normalise for the next one.

Gains are stored as their difference from one.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="gemma_sandwich_norm_bf16_h3840",
    tier="L1",
    family="norm",
    models=(
        Model(
            "google/gemma-3-12b-it",
            "hidden_size 3840, rms_norm_eps 1e-6; post_attention_layernorm",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
    ),
    axes={"num_tokens": var, "hidden": 3840},
    inputs={
        "sublayer": activation("bfloat16[num_tokens, hidden]", draw.residual_stream(), EVERY_KIND),
        "residual": activation("bfloat16[num_tokens, hidden]", draw.residual_stream(std=4.0), EVERY_KIND),
        "post_gain": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
        "next_gain": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
        "eps": scalar("float32", 1e-6),
    },
    outputs={
        "normalised": "bfloat16[num_tokens, hidden]",
        "new_residual": "bfloat16[num_tokens, hidden]",
    },
    workloads=rows(
        "num_tokens", *(1, 4, 16, 29, 64, 128, 300, 512, 1024, 1500, 2048, 4096, 5001, 8192, 12288, 16384)
    ),
    smoke=rows("num_tokens hidden", (6, 480), (40, 1920)),
)  # fmt: skip

import torch


def run(sublayer, residual, post_gain, next_gain, eps):
    total = residual.to(torch.float32) + rmsnorm(sublayer.to(torch.float32), post_gain, eps)
    return rmsnorm(total, next_gain, eps).to(sublayer.dtype), total.to(residual.dtype)


def rmsnorm(values, gain, eps):
    scale = torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + eps)
    return values * scale * (1.0 + gain.to(torch.float32))
