"""Start of a ConvNeXt V2 block: a depthwise 7 × 7 convolution, then LayerNorm over channels of each pixel.

The result has channels last, ready for the pointwise layers.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convolution_depthwise_norm_fp32_c512_k7",
    tier="L1",
    family="convolution",
    models=(
        Model(
            "facebook/convnextv2-base-22k-224",
            "hidden_sizes 128, 256, 512, 1024; kernel 7",
            "vision", read="facebookresearch/ConvNeXt-V2: models/convnextv2.py",
        ),
    ),
    axes={"batch": var, "channels": 512, "height": var, "width": var},
    inputs={
        "x": activation("float32[batch, channels, height, width]", draw.normal(), EVERY_KIND),
        "kernel": weight("float32[channels, 1, 7, 7]", draw.weight_matrix(fan_in=49)),
        "bias": weight("float32[channels]", draw.normal(std=0.2)),
        "gain": weight("float32[channels]", draw.norm_weight()),
        "shift": weight("float32[channels]", draw.normal(std=0.2)),
    },
    outputs={"y": "float32[batch, height, width, channels]"},
    workloads=rows(
        "batch channels height width",
        (1, 512, 14, 14), (1, 128, 56, 56), (1, 256, 28, 28), (1, 1024, 7, 7), (4, 512, 14, 14),
        (4, 192, 96, 96), (8, 128, 56, 56), (8, 384, 48, 48), (16, 256, 28, 28), (16, 768, 24, 24),
        (32, 512, 14, 14), (32, 1024, 7, 7), (64, 512, 14, 14), (64, 128, 56, 56), (2, 512, 33, 21),
        (3, 256, 50, 67),
    ),
    smoke=rows("batch channels height width", (1, 16, 9, 8), (2, 32, 14, 14)),
)  # fmt: skip

import torch


def run(x, kernel, bias, gain, shift):
    y = torch.nn.functional.conv2d(x, kernel, bias, padding=3, groups=x.shape[1])
    y = y.permute(0, 2, 3, 1)
    centred = y - y.mean(dim=-1, keepdim=True)
    variance = centred.pow(2).mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(variance + 1e-6) * gain + shift
