"""Shifted-window attention block with cosine similarity, in float32; its norm stands after the projection.

The image is rolled by half a window and cut into windows of 8 × 8. Queries and keys have length one; a learnt
temperature a head sharpens their products. Tokens that the roll brought together from two sides do not attend.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="attention_block_cosine_window_fp32_c180_w8",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "caidas/swin2SR-realworld-sr-x4-64-bsrgan-psnr",
            "embed_dim 180, num_heads 6, window_size 8, qkv_bias, layer_norm_eps 1e-5",
            "vision", read="huggingface/transformers: configuration_swin2sr.py",
        ),
    ),
    axes={
        "images": var, "height": var, "width": var, "window": 8, "heads": 6, "head_dim": 30,
        "channels": "heads * head_dim", "three": "3 * channels", "tokens": "window * window",
    },
    constraints=("height % window == 0", "width % window == 0"),
    inputs={
        "x": activation("float32[images, height, width, channels]", draw.normal(), EVERY_KIND),
        "qkv_weight": weight("float32[three, channels]", draw.weight_matrix()),
        "query_bias": weight("float32[channels]", draw.normal(std=0.2)),
        "value_bias": weight("float32[channels]", draw.normal(std=0.2)),
        "log_temperature": weight("float32[heads]", draw.normal(mean=2.3, std=0.3)),
        "position_bias": weight("float32[heads, tokens, tokens]", draw.uniform(low=0.0, high=16.0)),
        "output_weight": weight("float32[channels, channels]", draw.weight_matrix()),
        "output_bias": weight("float32[channels]", draw.normal(std=0.2)),
        "gain": weight("float32[channels]", draw.norm_weight()),
        "shift": weight("float32[channels]", draw.normal(std=0.1)),
        "window": scalar("int32", "window"),
    },
    outputs={"y": "float32[images, height, width, channels]"},
    workloads=rows(
        "images height width",
        (1, 64, 64), (1, 128, 128), (1, 120, 160), (1, 256, 256), (1, 264, 200), (1, 512, 512), (2, 64, 64),
        (2, 128, 128), (2, 256, 256), (3, 96, 72), (4, 64, 64), (4, 128, 128), (8, 64, 64), (8, 128, 128),
        (16, 64, 64), (32, 64, 64),
    ),
    smoke=rows(
        "images height width window heads head_dim", (2, 8, 12, 4, 3, 16), (1, 12, 6, 6, 2, 24)
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, qkv_weight, query_bias, value_bias, log_temperature, position_bias, output_weight, output_bias,
    gain, shift, window,
):  # fmt: skip
    _, height, width, channels = x.shape
    heads, half = log_temperature.shape[0], window // 2
    windows = cut(x.roll((-half, -half), dims=(1, 2)), window)
    bias = torch.cat([query_bias, torch.zeros_like(query_bias), value_bias])
    projected = (windows @ qkv_weight.T + bias).unflatten(-1, (3, heads, -1))
    query, key, value = projected.permute(3, 0, 1, 4, 2, 5)  # each [images, windows, heads, …]
    cosine = functional.normalize(query, dim=-1) @ functional.normalize(key, dim=-1).transpose(
        -1, -2
    )
    temperature = torch.exp(log_temperature.clamp(max=4.6052))[:, None, None]  # at most 100
    apart = regions_differ(height, width, window, x.device)
    logits = (cosine * temperature + position_bias).masked_fill(apart[:, None], -100.0)
    attended = (torch.softmax(logits, dim=-1) @ value).transpose(2, 3).flatten(3)
    result = attended @ output_weight.T + output_bias
    result = functional.layer_norm(result, (channels,), gain, shift, eps=1e-5)
    return x + joined(result, height, width, window).roll((half, half), dims=(1, 2))


def cut(image, window):
    """[images, height, width, c] to [images, windows, window * window, c]."""
    parts = image.unflatten(2, (-1, window)).unflatten(1, (-1, window)).transpose(2, 3)
    return parts.flatten(3, 4).flatten(1, 2)


def joined(windows, height, width, window):
    grid = (height // window, width // window)
    parts = windows.unflatten(2, (window, window)).unflatten(1, grid)
    return parts.transpose(2, 3).reshape(windows.shape[0], height, width, -1)


def regions_differ(height, width, window, device):
    """True where two tokens of a window come from opposite sides of the image: [windows, to, from]."""
    half = window // 2
    row = (torch.arange(height, device=device) >= height - half).long()
    column = (torch.arange(width, device=device) >= width - half).long()
    region = (2 * row[:, None] + column)[None, :, :, None]
    number = cut(region, window).squeeze(0).squeeze(-1)
    return number[:, :, None] != number[:, None, :]
