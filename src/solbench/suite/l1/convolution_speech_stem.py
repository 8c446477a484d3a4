"""Stem of a speech encoder: two convolutions over time with GELU, the second halving the rate; positions."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="convolution_speech_stem_fp32_m128_h1280",
    tier="L1",
    family="convolution",
    models=(
        Model(
            "openai/whisper-large-v3",
            "num_mel_bins 128, d_model 1280",
            "audio", read="k2-fsa/sherpa-onnx: scripts/whisper/model-info.md",
        ),
        Model(
            "mistralai/Voxtral-Small-24B-2507",
            "audio encoder: num_mel_bins 128, hidden_size 1280",
            "audio", read="huggingface/transformers: configuration_voxtral.py",
        ),
    ),
    axes={"batch": var, "mels": 128, "frames": var, "hidden": 1280, "positions": "frames // 2"},
    inputs={
        "mel": activation("float32[batch, mels, frames]", draw.normal(), EVERY_KIND),
        "first": weight("float32[hidden, mels, 3]", draw.weight_matrix(fan_in=384)),
        "first_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "second": weight("float32[hidden, hidden, 3]", draw.weight_matrix(fan_in=3840)),
        "second_bias": weight("float32[hidden]", draw.normal(std=0.2)),
        "position": weight("float32[positions, hidden]", draw.normal(std=0.5)),
    },
    outputs={"embedded": "float32[batch, positions, hidden]"},
    workloads=rows(
        "batch frames",
        (1, 100), (1, 500), (1, 1000), (1, 3000), (2, 750), (2, 3000), (3, 1234), (4, 500),
        (4, 3000), (6, 2000), (8, 1000), (8, 3000), (12, 3000), (16, 600), (16, 3000), (32, 3000),
    ),
    smoke=rows("batch mels frames hidden", (2, 8, 12, 32), (1, 32, 50, 64)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(mel, first, first_bias, second, second_bias, position):
    hidden = functional.gelu(functional.conv1d(mel, first, first_bias, padding=1))
    hidden = functional.gelu(functional.conv1d(hidden, second, second_bias, stride=2, padding=1))
    return hidden.transpose(1, 2) + position
