"""Feed-forward of a linear diffusion transformer: pointwise, depthwise 3 × 3, gate by SiLU of half, pointwise.

The depthwise convolution lets neighbouring patches meet, since linear attention sees positions poorly.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="mix_feed_forward_bf16_h2240",
    tier="L2",
    family="diffusion_block",
    models=(
        Model(
            "Efficient-Large-Model/Sana_Sprint_1.6B_1024px_diffusers",
            "70 heads × 32: hidden 2240, mlp_ratio 2.5",
            "diffusion",
            read="its base model: NVlabs/Sana: Sana_1600M_img1024.yaml, SanaMS_1600M_P1_D20",
        ),
    ),
    axes={"batch": var, "height": var, "width": var, "hidden": 2240, "inner": 5600, "two_inner": "2 * inner"},
    inputs={
        "x": activation("bfloat16[batch, hidden, height, width]", draw.normal(), EVERY_KIND),
        "expand": weight("bfloat16[two_inner, hidden, 1, 1]", draw.weight_matrix(fan_in=2240)),
        "expand_bias": weight("bfloat16[two_inner]", draw.normal(std=0.2)),
        "depthwise": weight("bfloat16[two_inner, 1, 3, 3]", draw.weight_matrix(fan_in=9)),
        "depthwise_bias": weight("bfloat16[two_inner]", draw.normal(std=0.2)),
        "reduce": weight("bfloat16[hidden, inner, 1, 1]", draw.weight_matrix(fan_in=5600)),
    },
    outputs={"y": "bfloat16[batch, hidden, height, width]"},
    workloads=rows(
        "batch height width",
        (1, 16, 16), (1, 24, 40), (1, 32, 32), (1, 48, 48), (1, 64, 64), (2, 16, 16), (2, 32, 32),
        (2, 27, 43),
        (3, 32, 32), (4, 16, 16), (4, 32, 32), (4, 64, 64), (8, 32, 32), (8, 20, 36), (16, 32, 32),
        (32, 16, 16),
    ),
    smoke=rows("batch height width hidden inner", (2, 4, 5, 32, 48), (1, 9, 8, 64, 96)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(x, expand, expand_bias, depthwise, depthwise_bias, reduce):
    hidden = functional.silu(functional.conv2d(x, expand, expand_bias))
    hidden = functional.conv2d(hidden, depthwise, depthwise_bias, padding=1, groups=hidden.shape[1])
    value, gate = hidden.chunk(2, dim=1)
    return functional.conv2d(value * functional.silu(gate), reduce)
