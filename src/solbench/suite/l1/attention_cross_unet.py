"""Cross-attention of image tokens to 77 text tokens in float16; heads of 64 channels lie side by side."""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    scalar,
    var,
)

PROBLEM = Problem(
    name="attention_cross_unet_fp16_h20_d64",
    tier="L1",
    family="attention",
    models=(
        Model(
            "stabilityai/stable-diffusion-xl-base-1.0",
            "unet: block_out_channels 320, 640, 1280, attention_head_dim 5, 10, 20 heads; 77 "
            "text tokens",
            "diffusion", read="Stability-AI/generative-models: sd_xl_base.yaml",
        ),
        Model(
            "stabilityai/sdxl-turbo",
            "unet: channels 320, 640, 1280, heads of 64; 77 text tokens",
            "diffusion", read="its base model: Stability-AI/generative-models: sd_xl_base.yaml",
        ),
    ),
    axes={"batch": var, "tokens": var, "text_len": 77, "num_heads": 20, "hidden": "num_heads * 64"},
    inputs={
        "query": activation("float16[batch, tokens, hidden]", draw.normal(), QUERY_KINDS),
        "key": activation("float16[batch, text_len, hidden]", draw.normal(), KEY_KINDS),
        "value": activation("float16[batch, text_len, hidden]", draw.normal(), EVERY_KIND),
        "num_heads": scalar("int32", "num_heads"),
    },
    outputs={"output": "float16[batch, tokens, hidden]"},
    workloads=rows(
        "batch tokens num_heads",
        (1, 1024, 20), (1, 4096, 10), (2, 1024, 20), (2, 4096, 10), (2, 960, 20), (2, 3840, 10),
        (3, 1000, 20), (4, 1024, 20), (4, 4096, 10), (8, 1024, 20), (8, 4096, 10), (8, 576, 20),
        (16, 1024, 20), (16, 2304, 10), (32, 1024, 20), (64, 256, 20),
    ),
    smoke=rows("batch tokens text_len num_heads", (2, 9, 5, 2), (1, 64, 77, 3)),
)  # fmt: skip

import torch


def run(query, key, value, num_heads):
    logits = heads(query, num_heads) @ heads(key, num_heads).transpose(-1, -2)
    weights = torch.softmax(logits * (query.shape[-1] // num_heads) ** -0.5, dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = weights @ heads(value, num_heads)
    return output.transpose(1, 2).flatten(2).to(query.dtype)


def heads(values, num_heads):
    """[batch, tokens, heads side by side] → [batch, heads, tokens, channels]."""
    return values.to(torch.float32).unflatten(-1, (num_heads, -1)).transpose(1, 2)
