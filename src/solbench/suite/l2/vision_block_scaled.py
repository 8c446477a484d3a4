"""A block of a vision transformer with layer scale in bfloat16: attention and MLP, each scaled by channel.

Learnt scales of about 0.1 weigh each branch before it joins the residual.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="vision_block_scaled_bf16_h1024",
    tier="L2",
    family="vision_block",
    models=(
        Model(
            "OpenGVLab/InternVL3-8B",
            "vision_config: hidden_size 1024, num_attention_heads 16, intermediate_size 4096, "
            "1025 tokens",
            "multimodal", read="huggingface/transformers: configuration_internvl.py",
        ),
    ),
    axes={"images": var, "tokens": 1025, "hidden": 1024, "inner": 4096, "heads": 16, "three": "3 * hidden"},
    inputs={
        "x": activation("bfloat16[images, tokens, hidden]", draw.normal(), EVERY_KIND),
        "first_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "first_shift": weight("bfloat16[hidden]", draw.normal(std=0.1)),
        "qkv_weight": weight("bfloat16[three, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("bfloat16[three]", draw.normal(std=0.2)),
        "output_weight": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "attention_scale": weight("bfloat16[hidden]", draw.normal(mean=0.5, std=0.2)),
        "second_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "second_shift": weight("bfloat16[hidden]", draw.normal(std=0.1)),
        "up_weight": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "mlp_scale": weight("bfloat16[hidden]", draw.normal(mean=0.5, std=0.2)),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "bfloat16[images, tokens, hidden]"},
    workloads=rows(
        "images tokens",
        (1, 257), (1, 1025), (2, 577), (2, 1025), (3, 1025), (4, 257), (4, 1025), (5, 777),
        (7, 1025), (8, 577), (8, 1025), (12, 1025), (13, 257), (16, 1025), (24, 577), (32, 257),
    ),
    smoke=rows("images tokens hidden inner heads", (2, 9, 64, 128, 4), (1, 33, 96, 192, 3)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, first_gain, first_shift, qkv_weight, qkv_bias, output_weight, attention_scale,
    second_gain, second_shift, up_weight, down_weight, mlp_scale, heads,
):  # fmt: skip
    projected = layernorm(x, first_gain, first_shift) @ qkv_weight.T + qkv_bias
    query, key, value = (
        projected.to(torch.float32).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    )
    weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = (weights @ value).transpose(1, 2).flatten(2).to(x.dtype)
    x = x + attention_scale * (attended @ output_weight.T)
    inner = functional.gelu(
        (layernorm(x, second_gain, second_shift) @ up_weight.T).to(torch.float32)
    )
    return x + mlp_scale * (inner.to(x.dtype) @ down_weight.T)


def layernorm(values, gain, shift):
    wide = values.to(torch.float32)
    centred = wide - wide.mean(dim=-1, keepdim=True)
    normalised = centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (normalised * gain.to(torch.float32) + shift.to(torch.float32)).to(values.dtype)
