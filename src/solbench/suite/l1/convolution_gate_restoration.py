"""Middle of an image restoration block: depthwise 3 × 3, a gate by product of halves, attention of channels.

The gate needs no nonlinearity; channels are then scaled by one linear layer of their means over the image.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convolution_gate_restoration_fp32_c64",
    tier="L1",
    family="convolution",
    models=(
        Model(
            "mikestealth/nafnet-models",
            "width 64, DW_Expand 2, SimpleGate, simplified channel attention (NAFNet paper, "
            "section 3)",
            "vision", read="megvii-research/NAFNet: options/test/SIDD/NAFNet-width64.yml",
        ),
    ),
    axes={"batch": var, "channels": 64, "two_channels": "2 * channels", "height": var, "width": var},
    inputs={
        "x": activation("float32[batch, two_channels, height, width]", draw.normal(mean=0.2), EVERY_KIND),
        "kernel": weight("float32[two_channels, 1, 3, 3]", draw.weight_matrix(fan_in=9)),
        "bias": weight("float32[two_channels]", draw.normal(mean=0.5, std=0.3)),
        "attention": weight("float32[channels, channels]", draw.weight_matrix()),
        "attention_bias": weight("float32[channels]", draw.normal(mean=1.0, std=0.2)),
    },
    outputs={"y": "float32[batch, channels, height, width]"},
    workloads=rows(
        "batch channels height width",
        (1, 64, 256, 256), (1, 128, 128, 128), (1, 256, 64, 64), (1, 512, 32, 32), (1, 1024, 16, 16),
        (1, 64, 720, 1280), (2, 64, 256, 256), (2, 128, 180, 320), (4, 64, 256, 256), (4, 256, 64, 64),
        (8, 64, 128, 128), (8, 512, 32, 32), (16, 32, 256, 256), (16, 128, 64, 64), (3, 64, 333, 250),
        (32, 64, 64, 64),
    ),
    smoke=rows("batch channels height width", (2, 8, 9, 7), (1, 32, 24, 24)),
)  # fmt: skip

import torch


def run(x, kernel, bias, attention, attention_bias):
    mixed = torch.nn.functional.conv2d(x, kernel, bias, padding=1, groups=x.shape[1])
    first, second = mixed.chunk(2, dim=1)
    gated = first * second
    scale = gated.mean(dim=(2, 3)) @ attention.T + attention_bias
    return gated * scale[:, :, None, None]
