"""Backward of making keys and values from latents: norm, expansion by heads, the shared rotated key.

A head's key is an expanded part and the rotated part that all heads share, so the latter's gradient is a sum
over heads, turned back. The reciprocal root mean square of the latents was kept.
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

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_rotary")
PROBLEM = Problem(
    name="latent_expand_backward_bf16_h128_c512",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "128 heads, kv_lora_rank 512, qk_nope_head_dim 128, qk_rope_head_dim 64, "
            "v_head_dim 128",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_tokens": var, "heads": 128, "rank": 512, "plain": 128, "rotary": 64, "value_dim": 128,
        "half_rotary": "rotary // 2", "key_dim": "plain + rotary",
    },
    inputs={
        "grad_key": activation("bfloat16[num_tokens, heads, key_dim]", draw.normal(std=0.1), EVERY_KIND),
        "grad_value": activation("bfloat16[num_tokens, heads, value_dim]", draw.normal(std=0.1), EVERY_KIND),
        "latent": activation("bfloat16[num_tokens, rank]", draw.normal(std=2.0)),
        "cos": activation("float32[num_tokens, half_rotary]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_rotary]", ROPE["sin"]),
        "gain": weight("bfloat16[rank]", draw.norm_weight()),
        "key_up": weight("bfloat16[heads, plain, rank]", draw.weight_matrix()),
        "value_up": weight("bfloat16[heads, value_dim, rank]", draw.weight_matrix()),
        "rstd": activation("float32[num_tokens, 1]", computed("reciprocal_rms", "latent")),
    },
    outputs={
        "grad_latent": "bfloat16[num_tokens, rank]",
        "grad_shared": "bfloat16[num_tokens, rotary]",
        "grad_gain": "bfloat16[rank]",
        "grad_key_up": "bfloat16[heads, plain, rank]",
        "grad_value_up": "bfloat16[heads, value_dim, rank]",
    },
    gradient=Gradient(
        "forward", ("latent", "shared", "cos", "sin", "gain", "key_up", "value_up"), ("grad_key", "grad_value"),
        ("latent", "shared", "gain", "key_up", "value_up"),
    ),
    workloads=rows(
        "num_tokens", *(16, 64, 100, 128, 256, 333, 512, 777, 1024, 1500, 2048, 3000, 4096, 5000, 6144, 8192)
    ),
    smoke=rows(
        "num_tokens heads rank plain rotary value_dim", (6, 4, 32, 16, 8, 24), (40, 3, 64, 32, 16, 32)
    ),
)  # fmt: skip

import torch


def reciprocal_rms(latent):
    return torch.rsqrt(latent.to(torch.float32).pow(2).mean(dim=-1, keepdim=True) + 1e-6)


def normalised(latent, rstd, gain):
    return (latent.to(torch.float32) * rstd * gain.to(torch.float32)).to(latent.dtype)


def forward(latent, shared, cos, sin, gain, key_up, value_up):
    wide = normalised(latent, reciprocal_rms(latent), gain)
    plain = torch.einsum("tr,hpr->thp", wide, key_up)
    turned = rotate(shared, cos, sin)[:, None].expand(-1, key_up.shape[0], -1)
    return torch.cat([plain, turned], dim=-1), torch.einsum("tr,hvr->thv", wide, value_up)


def rotate(values, cos, sin):
    even, odd = values.to(torch.float32)[..., 0::2], values.to(torch.float32)[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.flatten(-2).to(values.dtype)


def run(grad_key, grad_value, latent, cos, sin, gain, key_up, value_up, rstd):
    grad_plain, grad_turned = grad_key.tensor_split([key_up.shape[1]], dim=-1)
    grad_shared = rotate(grad_turned.to(torch.float32).sum(dim=1), cos, -sin).to(grad_key.dtype)
    wide = normalised(latent, rstd, gain)
    grad_key_up = torch.einsum("thp,tr->hpr", grad_plain, wide)
    grad_value_up = torch.einsum("thv,tr->hvr", grad_value, wide)
    upstream = grad_plain.flatten(1) @ key_up.flatten(0, 1)
    upstream = (upstream + grad_value.flatten(1) @ value_up.flatten(0, 1)).to(torch.float32)
    unscaled = latent.to(torch.float32) * rstd
    scaled = upstream * gain.to(torch.float32)
    along = (scaled * unscaled).mean(dim=-1, keepdim=True)
    grad_latent = ((scaled - unscaled * along) * rstd).to(latent.dtype)
    grad_gain = (upstream * unscaled).sum(dim=0).to(gain.dtype)
    return grad_latent, grad_shared, grad_gain, grad_key_up, grad_value_up
