"""Global response normalisation of ConvNeXt V2: channels compete by their size over the whole image.

Each channel's L2 norm over the image, divided by the mean norm of all channels, rescales it.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="global_response_norm_fp32_c2048",
    tier="L1",
    family="norm",
    models=(
        Model(
            "facebook/convnextv2-base-22k-224",
            "hidden_sizes 128, 256, 512, 1024; the inner width of a block is 4 times that",
            "vision",
        ),
        Model("facebook/convnextv2-tiny-22k-224", "hidden_sizes 96, 192, 384, 768", "vision"),
    ),
    axes={"batch": var, "height": var, "width": var, "channels": 2048},
    inputs={
        "x": activation("float32[batch, height, width, channels]", draw.normal(mean=0.3)),
        "gain": weight("float32[channels]", draw.norm_weight(center=0.5)),
        "bias": weight("float32[channels]", draw.normal(std=0.2)),
    },
    outputs={"y": "float32[batch, height, width, channels]"},
    workloads=rows(
        "batch height width channels",
        (1, 14, 14, 2048), (1, 56, 56, 512), (1, 28, 28, 1024), (1, 7, 7, 4096),
        (4, 14, 14, 2048), (4, 28, 28, 768), (8, 14, 14, 2048), (8, 56, 56, 384),
        (16, 7, 7, 4096), (16, 28, 28, 1024), (32, 14, 14, 2048), (32, 56, 56, 512),
        (64, 14, 14, 1536), (64, 7, 7, 3072), (3, 24, 24, 2048), (2, 17, 31, 1024),
    ),
    smoke=rows("batch height width channels", (2, 4, 5, 64), (1, 14, 14, 256)),
)  # fmt: skip

import torch


def run(x, gain, bias):
    size = x.pow(2).sum(dim=(1, 2), keepdim=True).sqrt()  # [batch, 1, 1, channels]
    share = size / (size.mean(dim=-1, keepdim=True) + 1e-6)
    return gain * (x * share) + bias + x
