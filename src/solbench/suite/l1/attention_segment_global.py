"""Global attention of a segmentation encoder over 64 × 64 patches with decomposed position bias.

A query's bias for a key is one number for the key's row plus one for its column, both computed before.
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
)

PROBLEM = Problem(
    name="attention_segment_global_fp32_h16_d80",
    tier="L1",
    family="attention",
    models=(
        Model(
            "facebook/sam-vit-huge",
            "vision_config: num_attention_heads 16, hidden_size 1280, global_attn_indexes, 64 "
            "× 64 patches",
            "vision", read="facebookresearch/segment-anything: build_sam.py",
        ),
    ),
    axes={"images": var, "heads": 16, "side": 64, "head_dim": 80, "tokens": "side * side"},
    inputs={
        "query": activation("float32[images, heads, tokens, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("float32[images, heads, tokens, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("float32[images, heads, tokens, head_dim]", draw.normal(), EVERY_KIND),
        "row_bias": activation("float32[images, heads, tokens, side]", draw.normal()),
        "column_bias": activation("float32[images, heads, tokens, side]", draw.normal(label="column")),
        "side": scalar("int32", "side"),
    },
    outputs={"output": "float32[images, heads, tokens, head_dim]"},
    workloads=rows(
        "images heads side",
        (1, 12, 64), (1, 16, 64), (2, 12, 64), (2, 16, 64), (3, 16, 64), (4, 12, 64), (4, 16, 64), (1, 16, 32),
        (2, 16, 32), (4, 12, 32), (8, 16, 32), (16, 16, 32), (1, 16, 48), (2, 12, 48), (4, 16, 40), (8, 12, 24),
    ),
    smoke=rows("images heads side head_dim", (1, 2, 5, 16), (2, 2, 8, 80)),
)  # fmt: skip

import torch


def run(query, key, value, row_bias, column_bias, side):
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    grid = logits.unflatten(-1, (side, side))
    biased = grid + row_bias[..., :, None] + column_bias[..., None, :]
    return torch.softmax(biased.flatten(-2), dim=-1) @ value
