"""GeGLU with statistical top-k of Gemma 3n: only gates above mean + 1.645 deviations of their token stay.

That keeps about 5 % of a token's channels without sorting; what stays is lowered by the threshold.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var

PROBLEM = Problem(
    name="sparse_geglu_fp32_i16384",
    tier="L1",
    family="activation",
    models=(
        Model(
            "google/gemma-3n-E4B-it",
            "text_config: intermediate_size 16384, activation_sparsity_pattern 0.95",
            "multimodal", read="huggingface/transformers: configuration_gemma3n.py",
        ),
        Model(
            "google/gemma-3n-E2B-it",
            "text_config: intermediate_size 8192, activation_sparsity_pattern 0.95",
            "multimodal",
            read="huggingface/transformers: convert_gemma3n_weights.py, variant gemma3n_e2b",
        ),
    ),
    axes={"num_tokens": var, "inner": 16384},
    inputs={
        "gate": activation("float32[num_tokens, inner]", draw.normal(mean=-0.5, std=1.5), EVERY_KIND),
        "up": activation("float32[num_tokens, inner]", draw.normal(label="up"), EVERY_KIND),
        "deviations": scalar("float32", 1.6448536269514722),
    },
    outputs={"y": "float32[num_tokens, inner]"},
    workloads=rows(
        "num_tokens inner",
        (1, 16384), (1, 8192), (4, 16384), (8, 8192), (16, 16384), (31, 8192), (64, 16384), (128, 16384),
        (256, 8192), (512, 16384), (777, 16384), (1024, 8192), (2048, 16384), (4096, 16384),
        (6000, 8192), (8192, 16384),
    ),
    smoke=rows("num_tokens inner", (5, 512), (24, 2048)),
)  # fmt: skip

import math

import torch


def run(gate, up, deviations):
    centred = gate - gate.mean(dim=-1, keepdim=True)
    deviation = centred.pow(2).mean(dim=-1, keepdim=True).sqrt()
    kept = torch.relu(centred - deviations * deviation)
    return kept * 0.5 * (1.0 + torch.erf(kept / math.sqrt(2.0))) * up
