"""Logits of each sequence's last token over 256,000 words, capped at ± 30; sequences are packed.

Only the last token of each sequence is read of the hidden states.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

LENGTHS = draw.ragged_lengths(sequences="batch", total="num_tokens")
PROBLEM = Problem(
    name="vocabulary_projection_bf16_h3584_v256000",
    tier="L1",
    family="projection",
    models=(
        Model(
            "google/gemma-2-9b",
            "hidden_size 3584, vocab_size 256000, final_logit_softcapping 30",
            read="google/gemma_pytorch: gemma/config.py",
        ),
    ),
    axes={
        "batch": var, "num_tokens": var, "hidden": 3584, "vocabulary": 256000, "len_indptr": "batch + 1",
    },
    inputs={
        "hidden_states": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "starts": activation("int32[len_indptr]", LENGTHS["indptr"]),
        "weight": weight("bfloat16[vocabulary, hidden]", draw.weight_matrix(fan_in=256)),
        "cap": scalar("float32", 30.0),
    },
    outputs={"logits": "float32[batch, vocabulary]"},
    workloads=rows(
        "batch num_tokens",
        (1, 1), (1, 1000), (2, 300), (4, 4), (4, 2048), (7, 7777), (8, 8), (8, 4096), (16, 16),
        (16, 8192), (32, 32), (32, 10000), (48, 5000), (64, 64), (64, 16384), (100, 100),
    ),
    smoke=rows("batch num_tokens hidden vocabulary", (2, 7, 128, 500), (3, 40, 256, 3000)),
)  # fmt: skip

import torch


def run(hidden_states, starts, weight, cap):
    last = hidden_states[starts[1:].long() - 1]
    logits = last.to(torch.float32) @ weight.to(torch.float32).T
    return cap * torch.tanh(logits / cap)
