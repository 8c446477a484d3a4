"""Joint attention of text and image tokens in a diffusion transformer: two streams, one softmax.

Each stream has its own queries, keys and values; all tokens see all tokens, and each stream gets its own
output, its heads side by side.
"""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
)

PROBLEM = Problem(
    name="attention_joint_bf16_h24_d128",
    tier="L1",
    family="attention",
    models=(
        Model(
            "black-forest-labs/FLUX.1-dev",
            "num_attention_heads 24, attention_head_dim 128",
            "diffusion", read="black-forest-labs/flux: src/flux/util.py",
        ),
        Model(
            "Qwen/Qwen-Image",
            "num_attention_heads 24, attention_head_dim 128",
            "diffusion", read="xzuyn/musubi-tuner: qwen_image_model.py",
        ),
    ),
    axes={
        "batch": var, "text_len": var, "image_len": var, "num_heads": 24, "head_dim": 128,
        "hidden": "num_heads * head_dim",
    },
    inputs={
        "text_query": activation("bfloat16[batch, text_len, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "text_key": activation("bfloat16[batch, text_len, num_heads, head_dim]", draw.normal(), KEY_KINDS),
        "text_value": activation("bfloat16[batch, text_len, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "image_query": activation(
            "bfloat16[batch, image_len, num_heads, head_dim]", draw.normal(), QUERY_KINDS
        ),
        "image_key": activation("bfloat16[batch, image_len, num_heads, head_dim]", draw.normal(), KEY_KINDS),
        "image_value": activation("bfloat16[batch, image_len, num_heads, head_dim]", draw.normal(), EVERY_KIND),
    },
    outputs={
        "text_output": "bfloat16[batch, text_len, hidden]",
        "image_output": "bfloat16[batch, image_len, hidden]",
    },
    workloads=rows(
        "batch text_len image_len",
        (1, 77, 256), (1, 512, 256), (1, 512, 1024), (1, 512, 2304), (1, 512, 4096), (1, 256, 4096),
        (1, 100, 3999), (2, 512, 1024), (2, 512, 2304), (2, 256, 4096), (3, 200, 1500), (4, 512, 1024),
        (4, 128, 2304), (6, 77, 777), (8, 512, 1024), (16, 256, 256),
    ),
    smoke=rows("batch text_len image_len num_heads", (2, 5, 16, 2), (1, 12, 40, 4)),
)  # fmt: skip

import torch


def run(text_query, text_key, text_value, image_query, image_key, image_value):
    text_len, head_dim = text_query.shape[1], text_query.shape[-1]
    query = torch.cat([text_query, image_query], dim=1).to(torch.float32)
    key = torch.cat([text_key, image_key], dim=1).to(torch.float32)
    value = torch.cat([text_value, image_value], dim=1).to(torch.float32)
    logits = torch.einsum("bqhd,bkhd->bhqk", query, key) * head_dim**-0.5
    weights = torch.softmax(logits, dim=-1)
    weights = weights.to(text_query.dtype).to(
        torch.float32
    )  # as a kernel's second product takes them
    output = torch.einsum("bhqk,bkhd->bqhd", weights, value)
    output = output.flatten(2).to(text_query.dtype)
    return output[:, :text_len], output[:, text_len:]
