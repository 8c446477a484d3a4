"""Backward of cross-attention from text to image features, from the weights that the forward kept.

Float32, no mask; some text tokens have no image to look at, their output was multiplied by zero.
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
    var,
)

PROBLEM = Problem(
    name="attention_cross_backward_fp32_h32_d128",
    tier="L1",
    family="attention",
    direction="backward",
    models=(
        Model(
            "meta-llama/Llama-3.2-11B-Vision-Instruct",
            "text_config: num_attention_heads 32, hidden_size 4096; 1601 patches a tile",
            "multimodal", read="huggingface/transformers: configuration_mllama.py",
        ),
    ),
    axes={"batch": var, "text_len": var, "image_len": 1601, "num_heads": 32, "head_dim": 128},
    inputs={
        "grad_output": activation(
            "float32[batch, num_heads, text_len, head_dim]", draw.normal(std=0.1), EVERY_KIND
        ),
        "query": activation("float32[batch, num_heads, text_len, head_dim]", draw.normal()),
        "key": activation("float32[batch, num_heads, image_len, head_dim]", draw.normal()),
        "value": activation("float32[batch, num_heads, image_len, head_dim]", draw.normal(), EVERY_KIND),
        "sees_image": activation("float32[batch, text_len]", draw.padding_mask()),
        "weights": activation(
            "float32[batch, num_heads, text_len, image_len]", computed("attention_weights", "query", "key")
        ),
    },
    outputs={
        "grad_query": "float32[batch, num_heads, text_len, head_dim]",
        "grad_key": "float32[batch, num_heads, image_len, head_dim]",
        "grad_value": "float32[batch, num_heads, image_len, head_dim]",
    },
    gradient=Gradient(
        "forward", ("query", "key", "value", "sees_image"), ("grad_output",), ("query", "key", "value")
    ),
    workloads=rows(
        "batch text_len image_len",
        (1, 32, 1601), (1, 128, 1601), (1, 512, 1601), (1, 1000, 1601), (1, 2048, 1601), (1, 256, 3202),
        (1, 512, 6404), (2, 64, 1601), (2, 300, 1601), (2, 1024, 1601), (4, 128, 1601), (4, 512, 1601),
        (4, 256, 3202), (8, 64, 1601), (8, 256, 1601), (16, 128, 1601),
    ),
    smoke=rows("batch text_len image_len num_heads head_dim", (2, 6, 9, 2, 16), (1, 20, 65, 2, 128)),
)  # fmt: skip

import torch


def attention_weights(query, key):
    return torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, dim=-1)


def forward(query, key, value, sees_image):
    return attention_weights(query, key) @ value * sees_image[:, None, :, None]


def run(grad_output, query, key, value, sees_image, weights):
    upstream = grad_output * sees_image[:, None, :, None]
    grad_weights = upstream @ value.transpose(-1, -2)
    along = (grad_weights * weights).sum(dim=-1, keepdim=True)
    grad_logits = weights * (grad_weights - along) * query.shape[-1] ** -0.5
    return (
        grad_logits @ key,
        grad_logits.transpose(-1, -2) @ query,
        weights.transpose(-1, -2) @ upstream,
    )
