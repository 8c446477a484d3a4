"""Backward of a diffusion transformer's modulated self-attention in float32, down to shift, scale and gate.

The forward normalises, scales and shifts by numbers of the image's timestep, attends without a mask, projects
and scales by the gate. It kept the norm's statistics, the projections and the attention's result.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    scalar,
    var,
    weight,
)

NORM = computed("statistics", "x")
SAVED = computed("saved", "x", "shift", "scale", "qkv_weight", "heads")
WANTED = (
    "x",
    "shift",
    "scale",
    "opening",
    "qkv_weight",
    "qkv_bias",
    "output_weight",
    "output_bias",
)
PROBLEM = Problem(
    name="attention_block_adaln_backward_fp32_h1152",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "PixArt-alpha/PixArt-XL-2-1024-MS",
            "num_attention_heads 16, attention_head_dim 72, attention_bias, norm_type "
            "ada_norm_single",
            "diffusion", read="huggingface/diffusers: pixart_transformer_2d.py",
        ),
        Model(
            "PixArt-alpha/PixArt-Sigma-XL-2-1024-MS",
            "num_attention_heads 16, attention_head_dim 72, attention_bias, norm_type "
            "ada_norm_single",
            "diffusion", read="huggingface/diffusers: pixart_transformer_2d.py",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "hidden": 1152, "heads": 16, "three": "3 * hidden",
        "head_dim": "hidden // heads",
    },
    inputs={
        "grad_y": activation("float32[batch, tokens, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, tokens, hidden]", draw.normal(mean=0.2, std=1.5)),
        "shift": activation("float32[batch, hidden]", draw.normal(std=0.3)),
        "scale": activation("float32[batch, hidden]", draw.normal(std=0.3)),
        "opening": activation("float32[batch, hidden]", draw.normal()),
        "qkv_weight": weight("float32[three, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "heads": scalar("int32", "heads"),
        "mean": activation("float32[batch, tokens, 1]", NORM[0]),
        "rstd": activation("float32[batch, tokens, 1]", NORM[1]),
        "qkv": activation("float32[3, batch, heads, tokens, head_dim]", SAVED[0]),
        "attended": activation("float32[batch, tokens, hidden]", SAVED[1]),
        "lse": activation("float32[batch, heads, tokens]", SAVED[2]),
    },
    outputs={
        "grad_x": "float32[batch, tokens, hidden]",
        "grad_shift": "float32[batch, hidden]",
        "grad_scale": "float32[batch, hidden]",
        "grad_opening": "float32[batch, hidden]",
        "grad_qkv_weight": "float32[three, hidden]",
        "grad_qkv_bias": "float32[three]",
        "grad_output_weight": "float32[hidden, hidden]",
        "grad_output_bias": "float32[hidden]",
    },
    gradient=Gradient("forward", (*WANTED, "heads"), ("grad_y",), WANTED),
    workloads=rows(
        "batch tokens",
        (1, 64), (1, 256), (1, 1024), (1, 1536), (1, 2304), (1, 4096), (2, 256), (2, 777),
        (2, 1024), (2, 4096), (4, 256), (4, 1024), (8, 256), (8, 1024), (16, 256), (32, 256),
    ),
    smoke=rows("batch tokens hidden heads", (2, 9, 64, 4), (1, 30, 96, 3)),
)  # fmt: skip

import torch


def statistics(x):
    mean = x.mean(dim=-1, keepdim=True)
    return mean, torch.rsqrt((x - mean).pow(2).mean(dim=-1, keepdim=True) + 1e-6)


def modulated(x, shift, scale):
    mean, rstd = statistics(x)
    return (x - mean) * rstd * (1.0 + scale[:, None]) + shift[:, None]


def saved(x, shift, scale, qkv_weight, heads):
    projected = modulated(x, shift, scale) @ qkv_weight.T
    return attend(projected.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4))


def attend(qkv):
    query, key, value = qkv
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    lse = torch.logsumexp(logits, dim=-1)
    attended = torch.exp(logits - lse[..., None]) @ value
    return qkv.contiguous(), attended.transpose(1, 2).flatten(2), lse


def forward(x, shift, scale, opening, qkv_weight, qkv_bias, output_weight, output_bias, heads):
    projected = modulated(x, shift, scale) @ qkv_weight.T + qkv_bias
    _, attended, _ = attend(projected.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4))
    return x + opening[:, None] * (attended @ output_weight.T + output_bias)


def run(
    grad_y, x, shift, scale, opening, qkv_weight, output_weight, output_bias, heads,
    mean, rstd, qkv, attended, lse,
):  # fmt: skip
    grad_opening = (grad_y * (attended @ output_weight.T + output_bias)).sum(dim=1)
    grad_result = grad_y * opening[:, None]
    grad_output_weight = grad_result.flatten(0, 1).T @ attended.flatten(0, 1)
    grad_output_bias = grad_result.sum(dim=(0, 1))
    query, key, value = qkv
    softmax_scale = query.shape[-1] ** -0.5
    grad_attended = grad_result @ output_weight
    upstream = grad_attended.unflatten(-1, (heads, -1)).transpose(1, 2)
    along = (
        (grad_attended * attended).unflatten(-1, (heads, -1)).sum(dim=-1)
    )  # [batch, tokens, heads]
    weights = torch.exp(query @ key.transpose(-1, -2) * softmax_scale - lse[..., None])
    grad_weights = upstream @ value.transpose(-1, -2) - along.transpose(1, 2)[..., None]
    grad_logits = weights * grad_weights * softmax_scale
    parts = (
        grad_logits @ key, grad_logits.transpose(-1, -2) @ query, weights.transpose(-1, -2) @ upstream
    )  # fmt: skip
    grad_qkv = torch.cat([each.transpose(1, 2).flatten(2) for each in parts], dim=-1)

    normalised = (x - mean) * rstd
    inputs = normalised * (1.0 + scale[:, None]) + shift[:, None]
    grad_qkv_weight = grad_qkv.flatten(0, 1).T @ inputs.flatten(0, 1)
    grad_inputs = grad_qkv @ qkv_weight
    grad_scale = (grad_inputs * normalised).sum(dim=1)
    scaled = grad_inputs * (1.0 + scale[:, None])
    centred = scaled - scaled.mean(dim=-1, keepdim=True)
    grad_x = (centred - normalised * (scaled * normalised).mean(dim=-1, keepdim=True)) * rstd
    return (
        grad_y + grad_x, grad_inputs.sum(dim=1), grad_scale, grad_opening,
        grad_qkv_weight, grad_qkv.sum(dim=(0, 1)), grad_output_weight, grad_output_bias,
    )  # fmt: skip
