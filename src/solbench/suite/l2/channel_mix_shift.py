"""Channel mixer of RWKV-7: each token is mixed with the one before, then a squared-ReLU MLP without gate.

The token before the first of each sequence comes as a state; the last token leaves as the next state.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="channel_mix_shift_bf16_h2560",
    tier="L2",
    family="mlp_block",
    models=(
        Model(
            "RWKV/RWKV7-Goose-World3-2.9B-HF",
            "hidden_size 2560, MLP of 4 times the width, squared ReLU",
            read="aierwiki/rwkvtune: rwkv7-2.9b.json; BlinkDL/RWKV-LM: rwkv_v7_demo.py",
        ),
    ),
    axes={"batch": var, "seq_len": var, "hidden": 2560, "inner": "4 * hidden"},
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "before": activation("bfloat16[batch, hidden]", draw.normal(), EVERY_KIND),
        "mix": weight("bfloat16[hidden]", draw.uniform()),
        "up_weight": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[batch, seq_len, hidden]", "after": "bfloat16[batch, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 1), (1, 128), (1, 1000), (1, 4096), (1, 8192), (2, 512), (2, 2048), (4, 1),
        (4, 333), (4, 2048), (8, 1), (8, 1024), (16, 256), (32, 1), (32, 128), (64, 1),
    ),
    smoke=rows("batch seq_len hidden", (2, 7, 48), (3, 20, 96)),
)  # fmt: skip

import torch


def run(x, before, mix, up_weight, down_weight):
    shifted = torch.cat([before[:, None], x[:, :-1]], dim=1)
    mixed = torch.lerp(x.to(torch.float32), shifted.to(torch.float32), mix.to(torch.float32))
    inner = torch.relu((mixed.to(x.dtype) @ up_weight.T).to(torch.float32)).pow(2)
    return inner.to(x.dtype) @ down_weight.T, x[:, -1].clone()
