"""Embeddings of tokens, scaled by the square root of the width, and the per-layer embeddings beside them.

Per-layer embeddings are narrow, one for each of 30 layers, and combined with a projection of the scaled
embedding.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="embedding_scaled_bf16_h2048_v262144",
    tier="L1",
    family="embedding",
    models=(
        Model(
            "google/gemma-3n-E2B-it",
            "text_config: hidden_size 2048, num_hidden_layers 30, hidden_size_per_layer_input "
            "256, vocab_size_per_layer_input 262144",
            "multimodal",
            read="huggingface/transformers: convert_gemma3n_weights.py, variant gemma3n_e2b",
        ),
    ),
    axes={
        "num_tokens": var, "vocabulary": 262144, "hidden": 2048, "layers": 30, "narrow": 256,
        "all_narrow": "layers * narrow",
    },
    inputs={
        "tokens": activation("int64[num_tokens]", draw.token_ids(vocabulary="vocabulary")),
        "table": weight("bfloat16[vocabulary, hidden]", draw.normal(std=0.02)),
        "layer_table": weight("bfloat16[vocabulary, all_narrow]", draw.normal(std=0.02)),
        "projection": weight("bfloat16[all_narrow, hidden]", draw.weight_matrix()),
        "layers": scalar("int32", "layers"),
    },
    fixed_values="every token id occurs already, and an id has no other kind of value",
    outputs={
        "embedded": "bfloat16[num_tokens, hidden]",
        "per_layer": "bfloat16[num_tokens, layers, narrow]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 40, 64, 128, 256, 512, 1000, 1024, 2048, 3000, 4096, 8192, 16384)
    ),
    smoke=rows("num_tokens vocabulary hidden layers narrow", (5, 300, 64, 3, 16), (40, 1000, 128, 4, 32)),
)  # fmt: skip

import torch


def run(tokens, table, layer_table, projection, layers):
    hidden, all_narrow = table.shape[1], layer_table.shape[1]
    embedded = table[tokens] * hidden**0.5
    own = layer_table[tokens].to(torch.float32) * (all_narrow // layers) ** 0.5
    projected = (embedded @ projection.T).to(torch.float32) * hidden**-0.5
    return embedded, ((own + projected) * 0.5**0.5).to(table.dtype).unflatten(-1, (layers, -1))
