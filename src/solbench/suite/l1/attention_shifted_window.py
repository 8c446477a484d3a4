"""Shifted-window cosine attention of Swin v2: unit queries and keys, a learnt temperature, a bias, a mask.

After the cyclic shift, the windows at the border hold tokens of regions that must not see each other.
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
    scalar,
    var,
    weight,
)

PROBLEM = Problem(
    name="attention_shifted_window_fp32_h6_d30_w8",
    tier="L1",
    family="attention",
    models=(
        Model(
            "caidas/swin2SR-realworld-sr-x4-64-bsrgan-psnr",
            "embed_dim 180, num_heads 6: head_dim 30, window_size 8",
            "vision", read="huggingface/transformers: configuration_swin2sr.py",
        ),
    ),
    axes={
        "batch": var, "rows": var, "columns": var, "side": 8, "heads": 6, "head_dim": 30,
        "windows": "batch * rows * columns", "tokens": "side * side",
    },
    inputs={
        "query": activation("float32[windows, heads, tokens, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("float32[windows, heads, tokens, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("float32[windows, heads, tokens, head_dim]", draw.normal(), EVERY_KIND),
        "log_scale": weight("float32[heads]", draw.normal(mean=2.3, std=0.5)),
        "bias": weight("float32[heads, tokens, tokens]", draw.normal()),
        "rows": scalar("int32", "rows"),
        "columns": scalar("int32", "columns"),
    },
    outputs={"output": "float32[windows, heads, tokens, head_dim]"},
    workloads=rows(
        "batch rows columns",
        (1, 8, 8), (1, 6, 10), (1, 16, 16), (1, 20, 32), (1, 32, 32), (1, 45, 80), (2, 8, 8), (2, 16, 16),
        (3, 11, 17), (4, 8, 8), (4, 16, 16), (8, 8, 8), (8, 16, 16), (16, 8, 8), (32, 8, 8), (64, 6, 6),
    ),
    smoke=rows("batch rows columns side heads", (1, 2, 3, 4, 2), (2, 2, 2, 8, 3)),
)  # fmt: skip

import torch


def run(query, key, value, log_scale, bias, rows, columns):
    heads, tokens = query.shape[1:3]
    scale = log_scale.clamp(max=4.605170185988092).exp().view(heads, 1, 1)  # at most 100
    cosine = unit(query) @ unit(key).transpose(-1, -2)
    logits = (cosine * scale + bias).view(-1, rows * columns, heads, tokens, tokens)
    region = regions(rows, columns, int(tokens**0.5), query.device)
    apart = region[:, :, None] != region[:, None, :]  # [window, query, key]
    logits = logits.masked_fill(apart[:, None], float("-inf"))
    return torch.softmax(logits, dim=-1).view(-1, heads, tokens, tokens) @ value


def unit(values):
    return values / values.pow(2).sum(dim=-1, keepdim=True).sqrt().clamp_min(1e-12)


def regions(rows, columns, side, device):
    """Number of the region that each token of each window came from: [rows * columns, side * side]."""
    down, across = band(rows, side, device), band(columns, side, device)
    region = 3 * down[:, None, :, None] + across[None, :, None, :]
    return region.reshape(rows * columns, side * side)


def band(windows, side, device):
    """0 before the last window, then 1 for its first half and 2 for its second: [windows, side]."""
    place = torch.arange(windows * side, device=device)
    last = (place >= (windows - 1) * side).long() + (place >= windows * side - side // 2).long()
    return last.view(windows, side)
