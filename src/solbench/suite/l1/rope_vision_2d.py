"""Two-dimensional rotary embedding of image patches: half of the frequencies follow the row, half the column.

Row and column of each patch come as numbers, since windows reorder the patches; angles are computed here.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="rope_vision_2d_bf16_h16_d80",
    tier="L1",
    family="rope",
    models=(
        Model(
            "Qwen/Qwen2.5-VL-72B-Instruct",
            "vision_config: hidden_size 1280, num_heads 16, patch_size 14",
            "multimodal",
            read="Qwen/Qwen2.5-VL-72B-Instruct-AWQ: config.json; NVIDIA/NeMo: qwen2vl.py, Qwen25VLConfig72B",
        ),
        Model(
            "Qwen/Qwen2.5-VL-32B-Instruct",
            "vision_config: hidden_size 1280, num_heads 16, patch_size 14",
            "multimodal",
            read="NVIDIA/NeMo: qwen2vl.py, Qwen25VLConfig32B",
        ),
    ),
    axes={"num_patches": var, "num_heads": 16, "head_dim": 80},
    inputs={
        "query": activation("bfloat16[num_patches, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[num_patches, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "row": activation("int64[num_patches]", draw.integers(high=96)),
        "column": activation("int64[num_patches]", draw.integers(high=96, label="column")),
    },
    outputs={
        "query_out": "bfloat16[num_patches, num_heads, head_dim]",
        "key_out": "bfloat16[num_patches, num_heads, head_dim]",
    },
    workloads=rows(
        "num_patches",
        *(64, 256, 400, 784, 1024, 1564, 2048, 2944, 4096, 5476, 6400, 8192, 9216, 12000, 16384, 32768),
    ),
    smoke=rows("num_patches num_heads", (12, 2), (40, 4)),
)  # fmt: skip

import torch


def run(query, key, row, column):
    quarter = query.shape[-1] // 4
    exponent = torch.arange(quarter, device=query.device).to(torch.float32) / quarter
    frequency = 10000.0**-exponent
    angle = torch.stack([row, column], dim=-1).to(torch.float32)[..., None] * frequency
    angle = angle.flatten(-2)  # [num_patches, head_dim / 2]: rows, then columns
    cos, sin = angle.cos()[:, None], angle.sin()[:, None]
    return rotate(query, cos, sin), rotate(key, cos, sin)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
