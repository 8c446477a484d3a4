"""Time mixer of RWKV-7 over a few tokens, in float32: shifts, projections, low-rank gates, state, output.

A head's state of 64 × 64 decays by channel, forgets what it held for a direction and learns a new value for
the key. Decay, learning rate, share of the first layer's value and output gate come from small two-layer maps
of the token, each mixed with the one before in its own proportion.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="rwkv_time_mix_fp32_h2560",
    tier="L2",
    family="ssm_block",
    models=(
        Model(
            "RWKV/RWKV7-Goose-World3-2.9B-HF",
            "hidden_size 2560, head_dim 64; low ranks: decay 96, rate 96, value 64, gate 320",
            read="aierwiki/rwkvtune: rwkv7-2.9b.json; BlinkDL/RWKV-LM: rwkv_v7_demo.py",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "hidden": 2560, "heads": 40, "head_dim": "hidden // heads",
        "decay_rank": 96, "rate_rank": 96, "value_rank": 64, "gate_rank": 320,
    },
    inputs={
        "x": activation("float32[batch, tokens, hidden]", draw.normal(), ("sign", "outliers", "sparsity")),
        "before": activation("float32[batch, hidden]", draw.normal(), ("sign", "outliers", "sparsity")),
        "first_value": activation("float32[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "state": activation("float32[batch, heads, head_dim, head_dim]", draw.normal(std=0.3), EVERY_KIND),
        "mixes": weight("float32[6, hidden]", draw.uniform()),
        "matrices": weight("float32[4, hidden, hidden]", draw.weight_matrix()),
        "decay_base": weight("float32[hidden]", draw.normal(mean=-1.0)),
        "decay_down": weight("float32[decay_rank, hidden]", draw.weight_matrix()),
        "decay_up": weight("float32[hidden, decay_rank]", draw.weight_matrix()),
        "rate_base": weight("float32[hidden]", draw.normal()),
        "rate_down": weight("float32[rate_rank, hidden]", draw.weight_matrix()),
        "rate_up": weight("float32[hidden, rate_rank]", draw.weight_matrix()),
        "value_base": weight("float32[hidden]", draw.normal()),
        "value_down": weight("float32[value_rank, hidden]", draw.weight_matrix()),
        "value_up": weight("float32[hidden, value_rank]", draw.weight_matrix()),
        "gate_down": weight("float32[gate_rank, hidden]", draw.weight_matrix()),
        "gate_up": weight("float32[hidden, gate_rank]", draw.weight_matrix()),
        "removal": weight("float32[hidden]", draw.norm_weight()),
        "rate_share": weight("float32[hidden]", draw.norm_weight()),
        "bonus": weight("float32[heads, head_dim]", draw.normal(std=0.3)),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "shift": weight("float32[hidden]", draw.normal(std=0.1)),
    },
    outputs={
        "y": "float32[batch, tokens, hidden]",
        "new_state": "float32[batch, heads, head_dim, head_dim]",
    },
    workloads=rows(
        "batch tokens",
        (1, 1), (1, 2), (1, 4), (1, 8), (1, 16), (1, 32), (2, 1), (3, 5),
        (4, 1), (4, 16), (8, 1), (8, 8), (16, 1), (32, 4), (64, 1), (128, 1),
    ),
    smoke=rows(
        "batch tokens hidden heads decay_rank rate_rank value_rank gate_rank",
        (2, 3, 64, 4, 8, 6, 4, 16), (3, 6, 96, 3, 6, 8, 12, 24),
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, before, first_value, state, mixes, matrices, decay_base, decay_down, decay_up, rate_base, rate_down,
    rate_up, value_base, value_down, value_up, gate_down, gate_up, removal, rate_share, bonus, gain, shift,
):  # fmt: skip
    heads = state.shape[1]
    earlier = torch.cat([before[:, None], x[:, :-1]], dim=1) - x
    for_query, for_decay, for_key, for_value, for_rate, for_gate = (
        x + earlier * mix for mix in mixes
    )
    query, key, value = (
        for_query @ matrices[0].T,
        for_key @ matrices[1].T,
        for_value @ matrices[2].T,
    )
    rate = torch.sigmoid(rate_base + for_rate @ rate_down.T @ rate_up.T)
    share = torch.sigmoid(value_base + for_value @ value_down.T @ value_up.T)
    value = value + (first_value - value) * share
    speed = torch.sigmoid(decay_base + torch.tanh(for_decay @ decay_down.T) @ decay_up.T)
    decay = torch.exp(-0.6065306597126334 * speed)  # exp(-1/2): at most this much of a log a token
    direction = functional.normalize((key * removal).unflatten(-1, (heads, -1)), dim=-1)
    key = key * (1.0 + (rate - 1.0) * rate_share)
    query, key, value, decay, rate = (
        each.unflatten(-1, (heads, -1)) for each in (query, key, value, decay, rate)
    )
    read = []
    for token in range(x.shape[1]):
        now = [each[:, token] for each in (query, key, value, decay, rate, direction)]
        state = updated(state, *now[1:])
        read.append((state @ now[0][..., None]).squeeze(-1))
    together = torch.stack(read, dim=1)  # [batch, tokens, heads, head_dim]
    centred = together - together.mean(dim=-1, keepdim=True)
    scale = torch.rsqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 64e-5)
    normalised = (centred * scale).flatten(2) * gain + shift
    extra = ((query * key * bonus).sum(dim=-1, keepdim=True) * value).flatten(2)
    gate = torch.sigmoid(for_gate @ gate_down.T) @ gate_up.T
    return ((normalised + extra) * gate) @ matrices[3].T, state


def updated(state, key, value, decay, rate, direction):
    """A head's state [value channels, key channels] after one token."""
    held = state @ direction[..., None]  # what it holds for the direction
    faded = state * decay[..., None, :]
    return faded - held * (direction * rate)[..., None, :] + value[..., None] * key[..., None, :]
