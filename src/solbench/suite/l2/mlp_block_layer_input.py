"""A block that adds a layer's own embedding of each token: narrow gate, embedding, widened, norm.

Every layer has 256 channels a token that were looked up for it alone; GELU of a projection of the hidden state
weighs them.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="mlp_block_layer_input_fp32_h2048_p256",
    tier="L2",
    family="embedding_block",
    models=(
        Model(
            "google/gemma-3n-E2B-it",
            "text_config: hidden_size 2048, hidden_size_per_layer_input 256, rms_norm_eps 1e-6",
            "multimodal",
            read="huggingface/transformers: convert_gemma3n_weights.py, variant gemma3n_e2b",
        ),
        Model(
            "google/gemma-3n-E4B-it",
            "text_config: hidden_size 2048, hidden_size_per_layer_input 256, rms_norm_eps 1e-6",
            "multimodal", read="huggingface/transformers: configuration_gemma3n.py",
        ),
    ),
    axes={"num_tokens": var, "hidden": 2048, "narrow": 256},
    inputs={
        "x": activation("float32[num_tokens, hidden]", draw.residual_stream(), EVERY_KIND),
        "layer_input": activation("float32[num_tokens, narrow]", draw.normal()),
        "gate_weight": weight("float32[narrow, hidden]", draw.weight_matrix()),
        "projection": weight("float32[hidden, narrow]", draw.weight_matrix()),
        "gain": weight("float32[hidden]", draw.norm_weight()),
    },
    outputs={"y": "float32[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens",
        *(1, 2, 8, 16, 33, 64, 128, 256, 500, 512, 1024, 2048, 4096, 6000, 8192, 16384),
    ),
    smoke=rows("num_tokens hidden narrow", (6, 64, 16), (30, 192, 48)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(x, layer_input, gate_weight, projection, gain):
    opening = functional.gelu(x @ gate_weight.T, approximate="tanh")
    widened = (opening * layer_input) @ projection.T
    scale = torch.rsqrt(widened.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return x + widened * scale * gain
