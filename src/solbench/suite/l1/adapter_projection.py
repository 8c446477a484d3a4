"""A projection with a low-rank adapter: the frozen product plus a scaled product through 320 channels.

Tokens of a speech segment use the adapter, the others do not; a flag a token says which.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="adapter_projection_bf16_h3072_r320",
    tier="L1",
    family="projection",
    models=(
        Model(
            "microsoft/Phi-4-multimodal-instruct",
            "hidden_size 3072, intermediate_size 8192, speech_lora r 320, lora_alpha 640",
            "multimodal",
            read="huggingface/transformers: models/phi4_multimodal, configuration and converter",
        ),
    ),
    axes={"num_tokens": var, "hidden": 3072, "width": 16384, "rank": 320},
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "uses_adapter": activation("bool[num_tokens]", draw.padding_mask()),
        "weight": weight("bfloat16[width, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[rank, hidden]", draw.weight_matrix()),
        "up": weight("bfloat16[width, rank]", draw.weight_matrix()),
        "scaling": scalar("float32", 2.0),
    },
    outputs={"y": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(2, 8, 16, 33, 64, 128, 256, 400, 512, 1024, 1500, 2048, 3000, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden width rank", (6, 192, 256, 32), (24, 384, 512, 48)),
)  # fmt: skip

import torch


def run(x, uses_adapter, weight, down, up, scaling):
    frozen = x.to(torch.float32) @ weight.to(torch.float32).T
    adapted = (x @ down.T).to(torch.float32) @ up.to(torch.float32).T
    return (frozen + scaling * adapted * uses_adapter[:, None]).to(x.dtype)
