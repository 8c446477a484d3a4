"""Linear attention with ReLU as feature map: one 32 × 32 state per head for the whole image, in float32.

No softmax: keys and values are summed into the state first, and each query divides by its sum of weights.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="attention_linear_relu_fp32_h70_d32",
    tier="L1",
    family="attention",
    models=(
        Model(
            "Efficient-Large-Model/Sana_Sprint_1.6B_1024px_diffusers",
            "num_attention_heads 70, attention_head_dim 32",
            "diffusion",
            read="its base model: NVlabs/Sana: Sana_1600M_img1024.yaml, SanaMS_1600M_P1_D20",
        ),
        Model(
            "Efficient-Large-Model/Sana_1600M_1024px_diffusers",
            "num_attention_heads 70, attention_head_dim 32",
            "diffusion", read="NVlabs/Sana: Sana_1600M_img1024.yaml, SanaMS_1600M_P1_D20",
        ),
    ),
    axes={"batch": var, "tokens": var, "heads": 70, "head_dim": 32},
    inputs={
        "query": activation("float32[batch, heads, tokens, head_dim]", draw.normal(), ("scale",)),
        "key": activation("float32[batch, heads, tokens, head_dim]", draw.normal(), ("scale",)),
        "value": activation("float32[batch, heads, tokens, head_dim]", draw.normal(), EVERY_KIND),
    },
    outputs={"output": "float32[batch, heads, tokens, head_dim]"},
    workloads=rows(
        "batch tokens",
        (1, 256), (1, 1024), (1, 4096), (1, 5120), (2, 1024), (2, 2500), (3, 777), (4, 1024),
        (4, 4096), (6, 1500), (8, 256), (8, 1024), (16, 1024), (16, 4096), (32, 1024), (64, 256),
    ),
    smoke=rows("batch tokens heads", (2, 16, 3), (1, 100, 5)),
)  # fmt: skip

import torch


def run(query, key, value):
    positive_query, positive_key = torch.relu(query), torch.relu(key)
    state = positive_key.transpose(-1, -2) @ value  # [batch, heads, channel, channel]
    total = positive_key.sum(dim=-2, keepdim=True).transpose(-1, -2)
    return (positive_query @ state) / (positive_query @ total + 1e-8)
