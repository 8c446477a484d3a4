"""GeGLU with the tanh form of GELU, gate and up in tensors of their own."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="geglu_tanh_bf16_i15360",
    tier="L1",
    family="activation",
    models=(
        Model(
            "google/gemma-3-12b-it",
            "intermediate_size 15360, hidden_activation gelu_pytorch_tanh",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
        Model(
            "google/gemma-3-4b-it",
            "intermediate_size 10240, hidden_activation gelu_pytorch_tanh",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
    ),
    axes={"num_tokens": var, "inner": 15360},
    inputs={
        "gate": activation("bfloat16[num_tokens, inner]", draw.normal(std=1.5), EVERY_KIND),
        "up": activation("bfloat16[num_tokens, inner]", draw.normal(label="up"), EVERY_KIND),
    },
    outputs={"y": "bfloat16[num_tokens, inner]"},
    workloads=rows(
        "num_tokens inner",
        (1, 15360), (4, 10240), (8, 15360), (17, 10240), (64, 15360), (128, 10240), (256, 15360), (300, 10240),
        (512, 15360), (1024, 10240), (1024, 15360), (2048, 15360), (3000, 10240), (4096, 15360),
        (8192, 15360), (16384, 10240),
    ),
    smoke=rows("num_tokens inner", (5, 480), (32, 2560)),
)  # fmt: skip

import torch


def run(gate, up):
    wide = gate.to(torch.float32)
    inside = 0.7978845608028654 * (wide + 0.044715 * wide.pow(3))  # the factor is √(2 / π)
    return (0.5 * wide * (1.0 + torch.tanh(inside)) * up.to(torch.float32)).to(gate.dtype)
