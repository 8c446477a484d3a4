"""Backward of cross-entropy to bfloat16 logits: probabilities by the log-sum-exp, one less at the target."""

from solbench.suite import Gradient, Model, Problem, activation, computed, draw, rows, var

PROBLEM = Problem(
    name="cross_entropy_backward_bf16_v128256",
    tier="L1",
    family="loss",
    direction="backward",
    models=(
        Model(
            "meta-llama/Llama-3.1-8B",
            "vocab_size 128256",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
        Model(
            "meta-llama/Llama-3.2-3B",
            "vocab_size 128256",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={"num_tokens": var, "vocabulary": 128256},
    inputs={
        "grad_loss": activation("float32[num_tokens]", draw.uniform(low=0.5, high=1.5), ("scale", "sign")),
        "logits": activation("bfloat16[num_tokens, vocabulary]", draw.normal(std=3.0)),
        "targets": activation("int64[num_tokens]", draw.token_ids(vocabulary="vocabulary")),
        "lse": activation("float32[num_tokens]", computed("log_sum_exp", "logits")),
    },
    outputs={"grad_logits": "bfloat16[num_tokens, vocabulary]"},
    gradient=Gradient("forward", ("logits", "targets"), ("grad_loss",), ("logits",)),
    workloads=rows(
        "num_tokens", *(2, 8, 16, 64, 100, 128, 256, 512, 777, 1024, 1500, 2048, 3000, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens vocabulary", (6, 500), (17, 8000)),
)  # fmt: skip

import torch


def log_sum_exp(logits):
    return torch.logsumexp(logits.to(torch.float32), dim=-1)


def forward(logits, targets):
    return log_sum_exp(logits) - logits.to(torch.float32).gather(1, targets[:, None])[:, 0]


def run(grad_loss, logits, targets, lse):
    probability = torch.exp(logits.to(torch.float32) - lse[:, None])
    hit = torch.zeros_like(probability).scatter(1, targets[:, None], 1.0)
    return (grad_loss[:, None] * (probability - hit)).to(logits.dtype)
