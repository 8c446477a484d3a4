"""Cross-entropy of each token over 151,936 words in float32, and the log-sum-exp for the backward pass."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="cross_entropy_fp32_v151936",
    tier="L1",
    family="loss",
    models=(
        Model(
            "Qwen/Qwen3-4B",
            "vocab_size 151936",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
        Model(
            "Qwen/Qwen3-8B",
            "vocab_size 151936",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"num_tokens": var, "vocabulary": 151936},
    inputs={
        "logits": activation("float32[num_tokens, vocabulary]", draw.normal(std=3.0), EVERY_KIND),
        "targets": activation("int64[num_tokens]", draw.token_ids(vocabulary="vocabulary")),
    },
    outputs={"loss": "float32[num_tokens]", "lse": "float32[num_tokens]"},
    workloads=rows(
        "num_tokens", *(2, 8, 16, 64, 100, 128, 256, 512, 777, 1024, 1500, 2048, 3000, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens vocabulary", (6, 500), (17, 8000)),
)  # fmt: skip

import torch


def run(logits, targets):
    largest = logits.amax(dim=-1)
    lse = largest + torch.log(torch.exp(logits - largest[:, None]).sum(dim=-1))
    return lse - logits.gather(1, targets[:, None])[:, 0], lse
