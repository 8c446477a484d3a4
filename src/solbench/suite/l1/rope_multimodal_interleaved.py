"""Interleaved multimodal rotary embedding: frequencies go round among time, height and width.

Of 64 frequencies, 1, 4, … 58 turn with height and 2, 5, … 59 with width; all others with time. Angles are
computed from the three positions of each token.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="rope_multimodal_interleaved_bf16_h32_kv8_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "Qwen/Qwen3-VL-8B-Instruct",
            "num_attention_heads 32, num_key_value_heads 8, head_dim 128, mrope_section 24, "
            "20, 20, mrope_interleaved, rope_theta 5000000",
            "multimodal",
            read="its text model, Qwen3-8B: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
        Model(
            "Qwen/Qwen3-VL-4B-Instruct",
            "mrope_section 24, 20, 20, head_dim 128",
            "multimodal",
            read="its text model, Qwen3-4B: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 32, "num_kv_heads": 8, "head_dim": 128},
    inputs={
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND),
        "positions": activation("int64[3, batch, seq_len]", draw.positions(latest=3000)),
        "base": scalar("float32", 5000000.0),
    },
    outputs={
        "query_out": "bfloat16[batch, num_heads, seq_len, head_dim]",
        "key_out": "bfloat16[batch, num_kv_heads, seq_len, head_dim]",
    },
    workloads=rows(
        "batch seq_len",
        (1, 1), (1, 128), (1, 1200), (1, 4096), (1, 8192), (2, 333), (2, 2048), (4, 1),
        (4, 777), (4, 4096), (8, 512), (8, 2048), (16, 256), (16, 1024), (32, 512), (64, 128),
    ),
    smoke=rows("batch seq_len num_heads num_kv_heads", (2, 5, 3, 1), (1, 20, 8, 2)),
)  # fmt: skip

import torch


def run(query, key, positions, base):
    head_dim = query.shape[-1]
    exponent = torch.arange(0, head_dim, 2, device=query.device).to(torch.float32) / head_dim
    angles = positions.to(torch.float32)[..., None] * base**-exponent  # [3, batch, seq_len, 64]
    angle = angles[0].clone()
    for axis in (1, 2):
        band = slice(axis, 60, 3)
        angle[..., band] = angles[axis][..., band]
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    return rotate(query, cos, sin), rotate(key, cos, sin)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
