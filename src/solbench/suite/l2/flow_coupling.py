"""Coupling layer of a speech flow in float32: half of the channels shift the rest, through gated convolutions.

Four layers of a kernel of five frames: the sum with the speaker's vector goes half through tanh, half through
a sigmoid, and their product feeds a residual and a skip branch. Frames after an utterance's end stay zero.
The channels are reversed afterwards, so that the next layer shifts the others.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="flow_coupling_fp32_c192",
    tier="L2",
    family="audio_block",
    models=(
        Model(
            "myshell-ai/OpenVoiceV2",
            "inter_channels 192, hidden_channels 192, gin_channels 256; coupling: kernel 5, 4 "
            "layers",
            "audio",
            read="the model's own converter/config.json; idiap/coqui-ai-TTS: vc/models/openvoice.py",
        ),
    ),
    axes={
        "batch": var, "frames": var, "channels": 192, "half": "channels // 2", "hidden": 192, "speaker": 256,
        "layers": 4, "wide": "2 * hidden",
    },
    inputs={
        "x": activation("float32[batch, channels, frames]", draw.normal(), EVERY_KIND),
        "real": activation("float32[batch, frames]", draw.padding_mask()),
        "voice": activation("float32[batch, speaker]", draw.normal(), EVERY_KIND),
        "before_weight": weight("float32[hidden, half, 1]", draw.weight_matrix(fan_in=96)),
        "before_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "voice_weight": weight("float32[layers, wide, speaker]", draw.weight_matrix()),
        "kernels": weight("float32[layers, wide, hidden, 5]", draw.weight_matrix(fan_in=960)),
        "kernel_biases": weight("float32[layers, wide]", draw.normal(std=0.2)),
        "residual_weights": weight("float32[layers, hidden, hidden, 1]", draw.weight_matrix(fan_in=192)),
        "skip_weights": weight("float32[layers, hidden, hidden, 1]", draw.weight_matrix(fan_in=192)),
        "after_weight": weight("float32[half, hidden, 1]", draw.weight_matrix(fan_in=192)),
        "after_bias": weight("float32[half]", draw.normal(std=0.2)),
    },
    outputs={"y": "float32[batch, channels, frames]"},
    workloads=rows(
        "batch frames",
        (1, 50), (1, 200), (1, 431), (1, 862), (1, 1500), (1, 3000), (2, 100), (2, 862),
        (3, 777), (4, 200), (4, 862), (8, 100), (8, 431), (16, 200), (16, 862), (32, 300),
    ),
    smoke=rows("batch frames channels hidden speaker", (2, 12, 16, 24, 32), (1, 40, 32, 48, 16)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, real, voice, before_weight, before_bias, voice_weight, kernels, kernel_biases, residual_weights,
    skip_weights, after_weight, after_bias,
):  # fmt: skip
    mask = real[:, None]
    kept, moved = x.chunk(2, dim=1)
    # [batch, hidden, frames] from here on
    hidden = functional.conv1d(kept, before_weight, before_bias) * mask
    skipped = torch.zeros_like(hidden)
    layers = zip(voice_weight, kernels, kernel_biases, residual_weights, skip_weights, strict=True)
    for of_voice, kernel, bias, residual, skip in layers:
        wide = functional.conv1d(hidden, kernel, bias, padding=2) + (voice @ of_voice.T)[..., None]
        first, second = wide.chunk(2, dim=1)
        inner = torch.tanh(first) * torch.sigmoid(second)
        hidden = (hidden + functional.conv1d(inner, residual)) * mask
        skipped = skipped + functional.conv1d(inner, skip)
    mean = functional.conv1d(skipped * mask, after_weight, after_bias)
    return torch.cat([kept, (moved + mean) * mask], dim=1).flip(1)
