"""Logits of new tokens over the vocabulary in FP8: a scale for each token and each word, float32 results."""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

INPUT = draw.fp8_rows(rows="num_tokens", columns="hidden")
WEIGHT = draw.fp8_rows(rows="vocabulary", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="fp8_vocabulary_h4096_v128256",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic",
            "hidden_size 4096, vocab_size 128256",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"num_tokens": var, "hidden": 4096, "vocabulary": 128256},
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scales": activation("float32[num_tokens, 1]", INPUT["scales"], ("scale", "outliers")),
        "weight": weight("float8_e4m3fn[vocabulary, hidden]", WEIGHT["values"]),
        "weight_scales": weight("float32[vocabulary, 1]", WEIGHT["scales"]),
    },
    outputs={"logits": "float32[num_tokens, vocabulary]"},
    workloads=rows("num_tokens", *(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 128, 256, 512)),
    smoke=rows("num_tokens hidden vocabulary", (3, 256, 500), (16, 512, 2000)),
)  # fmt: skip

import torch


def run(x, x_scales, weight, weight_scales):
    return x.to(torch.float32) @ weight.to(torch.float32).T * x_scales * weight_scales.T
