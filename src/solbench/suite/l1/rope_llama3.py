"""Rotary embedding with Llama 3.1's stretched frequencies: long waves slow down eightfold, short ones stay.

Between wavelengths of 2048 and 8192 tokens the two are mixed linearly. Queries only, far into a long context.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="rope_llama3_bf16_h128_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "meta-llama/Llama-3.1-405B",
            "num_attention_heads 128, head_dim 128, rope_theta 500000, rope_scaling llama3: "
            "factor 8, low_freq_factor 1, high_freq_factor 4, original_max_position_embeddings"
            " 8192",
            read="meta-llama/llama-models: models/sku_list.py",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 128, "head_dim": 128},
    inputs={
        "query": activation("bfloat16[batch, seq_len, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "positions": activation("int64[batch, seq_len]", draw.positions(latest=120000)),
        "factor": scalar("float32", 8.0),
    },
    outputs={"query_out": "bfloat16[batch, seq_len, num_heads, head_dim]"},
    workloads=rows(
        "batch seq_len",
        (1, 1), (1, 128), (1, 1000), (1, 4096), (1, 8192), (1, 32768), (2, 2048), (3, 777),
        (4, 1), (4, 4096), (8, 1), (8, 1024), (16, 512), (32, 1), (32, 300), (64, 1),
    ),
    smoke=rows("batch seq_len num_heads", (2, 9, 4), (1, 40, 8)),
)  # fmt: skip

import torch


def run(query, positions, factor):
    half = query.shape[-1] // 2
    frequency = 500000.0 ** -(torch.arange(half, device=query.device).to(torch.float32) / half)
    wavelength = 2.0 * torch.pi / frequency
    # 0 at a wavelength of 8192 and above, 1 at 2048 and below.
    short = ((8192.0 / wavelength - 1.0) / 3.0).clamp(0.0, 1.0)
    frequency = frequency * (short + (1.0 - short) / factor)
    angle = (positions.to(torch.float32)[..., None] * frequency)[:, :, None]  # all heads alike
    first, second = query.to(torch.float32).chunk(2, dim=-1)
    turned = [
        first * angle.cos() - second * angle.sin(),
        second * angle.cos() + first * angle.sin(),
    ]
    return torch.cat(turned, dim=-1).to(query.dtype)
