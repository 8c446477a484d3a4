"""Adaptive instance norm of a speech synthesiser: each channel of a clip normalised over time, then styled.

The style vector of the speaker gives a gain and a shift per channel by one linear layer.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="adaptive_instance_norm_fp32_c512",
    tier="L1",
    family="norm",
    models=(
        Model(
            "hexgrad/Kokoro-82M",
            "hidden_dim 512, style_dim 128",
            "audio", read="yl4579/StyleTTS2, its architecture: Configs/config.yml",
        ),
    ),
    axes={"batch": var, "frames": var, "channels": 512, "style_dim": 128, "two_channels": "2 * channels"},
    inputs={
        "x": activation("float32[batch, channels, frames]", draw.normal(mean=0.5, std=2.0), EVERY_KIND),
        "style": activation("float32[batch, style_dim]", draw.normal(), EVERY_KIND),
        "projection": weight("float32[two_channels, style_dim]", draw.weight_matrix()),
        "projection_bias": weight("float32[two_channels]", draw.normal(std=0.1)),
    },
    outputs={"y": "float32[batch, channels, frames]"},
    workloads=rows(
        "batch frames",
        (1, 50), (1, 200), (1, 513), (1, 1024), (1, 4000), (2, 300), (2, 2048), (4, 128),
        (4, 777), (4, 4096), (8, 512), (8, 1999), (16, 256), (16, 1024), (32, 600), (64, 400),
    ),
    smoke=rows("batch frames channels style_dim", (2, 9, 32, 16), (3, 60, 128, 128)),
)  # fmt: skip

import torch


def run(x, style, projection, projection_bias):
    gain, shift = (style @ projection.T + projection_bias).chunk(2, dim=-1)
    centred = x - x.mean(dim=-1, keepdim=True)
    normalised = centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return (1.0 + gain[:, :, None]) * normalised + shift[:, :, None]
