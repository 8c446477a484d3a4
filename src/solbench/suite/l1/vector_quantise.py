"""Nearest codebook vector of each feature of an image tokeniser: distances, choice, and the chosen vectors.

Squared distances are expanded into norms and one product, so that the codebook is read once.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="vector_quantise_fp32_c1024_d256",
    tier="L1",
    family="quantise",
    models=(
        Model(
            "fun-research/TiTok",
            "MaskGIT-VQGAN tokeniser: codebook of 1024 vectors of 256 channels",
            "vision", read="bytedance/1d-tokenizer: modeling/titok.py",
        ),
    ),
    axes={"features": var, "codes": 1024, "channels": 256},
    inputs={
        "x": activation("float32[features, channels]", draw.normal(), ("sign",)),
        "codebook": weight("float32[codes, channels]", draw.normal()),
    },
    outputs={"quantised": "float32[features, channels]", "indices": "int32[features]"},
    workloads=rows(
        "features",
        *(32, 128, 256, 333, 512, 1024, 1500, 2048, 4096, 5000, 8192, 12288, 16384, 20000, 32768, 65536),
    ),
    smoke=rows("features codes channels", (20, 32, 16), (64, 256, 64)),
)  # fmt: skip

import torch


def run(x, codebook):
    # Without the square of x, which is the same for all codes.
    distance = codebook.pow(2).sum(dim=-1) - 2.0 * x @ codebook.T
    indices = distance.argmin(dim=-1)
    return codebook[indices], indices.to(torch.int32)
