"""End of an RWKV-7 time mixer: LayerNorm over each head, the current token's bonus, and the output gate.

The bonus is the value scaled by how well receptance and key agree under a learnt weight per channel.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="rwkv_head_norm_bf16_h2560",
    tier="L1",
    family="norm",
    models=(
        Model(
            "RWKV/RWKV7-Goose-World3-2.9B-HF",
            "hidden_size 2560, head_dim 64, norm epsilon 64e-5",
            read="aierwiki/rwkvtune: rwkv7-2.9b.json; BlinkDL/RWKV-LM: rwkv_v7_demo.py",
        ),
    ),
    axes={"num_tokens": var, "heads": 40, "head_dim": 64, "hidden": "heads * head_dim"},
    inputs={
        "mixed": activation("bfloat16[num_tokens, heads, head_dim]", draw.normal(mean=0.2), EVERY_KIND),
        "receptance": activation("bfloat16[num_tokens, heads, head_dim]", draw.normal(), EVERY_KIND),
        "key": activation("bfloat16[num_tokens, heads, head_dim]", draw.normal(std=0.5), EVERY_KIND),
        "value": activation("bfloat16[num_tokens, heads, head_dim]", draw.normal(), EVERY_KIND),
        "gate": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "bonus": weight("bfloat16[heads, head_dim]", draw.normal(std=0.3)),
        "gain": weight("bfloat16[heads, head_dim]", draw.norm_weight()),
        "bias": weight("bfloat16[heads, head_dim]", draw.normal(std=0.1)),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 3, 8, 16, 64, 100, 128, 512, 700, 1024, 2048, 4000, 4096, 8192, 16384, 32768)
    ),
    smoke=rows("num_tokens heads", (6, 4), (30, 8)),
)  # fmt: skip

import torch


def run(mixed, receptance, key, value, gate, bonus, gain, bias):
    wide = mixed.to(torch.float32)
    centred = wide - wide.mean(dim=-1, keepdim=True)
    normalised = centred * torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 64e-5)
    normalised = normalised * gain.to(torch.float32) + bias.to(torch.float32)
    weighted = receptance.to(torch.float32) * key.to(torch.float32) * bonus.to(torch.float32)
    agreement = weighted.sum(dim=-1, keepdim=True)
    summed = normalised + agreement * value.to(torch.float32)
    return (summed.reshape(gate.shape) * gate.to(torch.float32)).to(mixed.dtype)
