"""Cross-attention block of a video generator: norm, projections, wide norms, attention to text, output.

Query and key norms cover the whole width of 5120, before it is split into 40 heads.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="cross_attention_block_bf16_h5120",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "Wan-AI/Wan2.2-T2V-A14B",
            "dim 5120, num_heads 40, text_len 512, cross_attn_norm",
            "video", read="Wan2.2: wan/configs/wan_t2v_A14B.py",
        ),
    ),
    axes={"batch": var, "tokens": var, "text_len": 512, "hidden": 5120, "heads": 40},
    inputs={
        "x": activation("bfloat16[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "text": activation("bfloat16[batch, text_len, hidden]", draw.normal(), EVERY_KIND),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "shift": weight("bfloat16[hidden]", draw.normal(std=0.1)),
        "query_weight": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "key_weight": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "value_weight": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "key_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "output_weight": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "bfloat16[batch, tokens, hidden]"},
    workloads=rows(
        "batch tokens",
        (1, 256), (1, 400), (1, 1024), (1, 1560), (1, 3600), (1, 7800), (1, 14040), (1, 18000),
        (2, 256), (2, 777), (2, 1560), (2, 3600), (2, 7800), (4, 1024), (4, 1560), (8, 1560),
    ),
    smoke=rows("batch tokens text_len hidden heads", (2, 9, 5, 64, 4), (1, 33, 12, 96, 3)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, text, gain, shift, query_weight, key_weight, value_weight, query_gain, key_gain, output_weight, heads,
):  # fmt: skip
    wide = functional.layer_norm(x.to(torch.float32), (x.shape[-1],), eps=1e-6)
    normalised = (wide * gain.to(torch.float32) + shift.to(torch.float32)).to(x.dtype)
    query = split(rmsnorm(normalised @ query_weight.T, query_gain), heads)
    key = split(rmsnorm(text @ key_weight.T, key_gain), heads)
    value = split(text @ value_weight.T, heads)
    weights = torch.softmax(query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5, dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = (weights @ value).transpose(1, 2).flatten(2).to(x.dtype)
    return x + attended @ output_weight.T


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def split(values, heads):
    return values.to(torch.float32).unflatten(-1, (heads, -1)).transpose(1, 2)
