"""Joint attention block of a diffusion transformer: image and text keep their own weights and attend together.

Each stream has its own modulation (shift, scale and a gate on the result), projections and head norms. Its
tokens join the other's for one attention without a mask, and part again for the output projections.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="attention_block_joint_streams_bf16_h2432",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "stabilityai/stable-diffusion-3.5-large",
            "num_attention_heads 38, attention_head_dim 64, qk_norm rms_norm",
            "diffusion",
            read="frankjoshua/stable-diffusion-3.5-large: transformer/config.json, a copy",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "text_len": var, "num_heads": 38, "head_dim": 64,
        "hidden": "num_heads * head_dim", "three": "3 * hidden",
    },
    inputs={
        "image": activation("bfloat16[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "text": activation("bfloat16[batch, text_len, hidden]", draw.normal(), EVERY_KIND),
        "image_modulation": activation("bfloat16[batch, 3, hidden]", draw.normal(std=0.5)),
        "text_modulation": activation("bfloat16[batch, 3, hidden]", draw.normal(std=0.5)),
        "image_qkv": weight("bfloat16[three, hidden]", draw.weight_matrix()),
        "image_bias": weight("bfloat16[three]", draw.normal(std=0.2)),
        "text_qkv": weight("bfloat16[three, hidden]", draw.weight_matrix()),
        "text_bias": weight("bfloat16[three]", draw.normal(std=0.2)),
        "image_gains": weight("bfloat16[2, head_dim]", draw.norm_weight()),
        "text_gains": weight("bfloat16[2, head_dim]", draw.norm_weight()),
        "image_output": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "text_output": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
    },
    outputs={
        "new_image": "bfloat16[batch, tokens, hidden]",
        "new_text": "bfloat16[batch, text_len, hidden]",
    },
    workloads=rows(
        "batch tokens text_len",
        (1, 256, 154), (1, 1024, 154), (1, 1024, 333), (1, 2304, 333), (1, 4096, 154), (1, 4096, 333),
        (2, 256, 77), (2, 1024, 154), (2, 1024, 333), (2, 3600, 333), (2, 4096, 333), (3, 777, 154),
        (4, 1024, 333), (4, 2025, 154), (8, 256, 154), (8, 1024, 154),
    ),
    smoke=rows("batch tokens text_len num_heads head_dim", (2, 12, 5, 3, 32), (1, 30, 9, 2, 64)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    image, text, image_modulation, text_modulation, image_qkv, image_bias, text_qkv, text_bias,
    image_gains, text_gains, image_output, text_output,
):  # fmt: skip
    tokens, head_dim = image.shape[1], image_gains.shape[1]
    of_image = heads_of(image, image_modulation, image_qkv, image_bias, image_gains)
    of_text = heads_of(text, text_modulation, text_qkv, text_bias, text_gains)
    query, key, value = torch.cat([of_image, of_text], dim=-2).to(torch.float32)
    weights = torch.softmax(query @ key.transpose(-1, -2) * head_dim**-0.5, dim=-1)
    weights = weights.to(image.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = (weights @ value).transpose(1, 2).flatten(2).to(image.dtype)
    for_image, for_text = attended.tensor_split([tokens], dim=1)
    new_image = image + image_modulation[:, 2:] * (for_image @ image_output.T)
    return new_image, text + text_modulation[:, 2:] * (for_text @ text_output.T)


def heads_of(x, modulation, weight, bias, gains):
    """Queries, keys and values of one stream: [3, batch, heads, tokens, head_dim]."""
    wide = functional.layer_norm(x.to(torch.float32), (x.shape[-1],), eps=1e-6)
    shift, scale, _ = modulation.to(torch.float32)[:, :, None].unbind(dim=1)
    projected = (wide * (1.0 + scale) + shift).to(x.dtype) @ weight.T + bias
    heads = projected.unflatten(-1, (3, -1, gains.shape[1])).permute(2, 0, 3, 1, 4)
    query, key, value = heads
    return torch.stack([rmsnorm(query, gains[0]), rmsnorm(key, gains[1]), value])


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)
