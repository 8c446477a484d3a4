"""A switch layer in float32: every expert takes a fixed number of a sequence's tokens, later ones are dropped.

Tokens are laid into one buffer an expert. A dropped token keeps its residual only; others get the probability
of their one expert times what it makes of the normalised token.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="moe_layer_capacity_fp32_h768_e8",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "google/switch-base-8",
            "d_model 768, d_ff 2048, num_experts 8, expert_capacity 64, dense_act_fn relu",
            read="huggingface/transformers: configuration_switch_transformers.py",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 768, "inner": 2048, "experts": 8, "capacity": 64,
    },
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(std=1.5), EVERY_KIND),
        "scores": activation("float32[batch, seq_len, experts]", draw.router_logits()),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "up": weight("float32[experts, inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
        "capacity": scalar("int32", "capacity"),
    },
    outputs={"y": "float32[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 256), (1, 512), (2, 200), (2, 512), (4, 128), (4, 333), (4, 512),
        (8, 256), (8, 512), (16, 128), (16, 512), (32, 114), (32, 256), (64, 128), (64, 512),
    ),
    smoke=rows("batch seq_len hidden inner experts capacity", (2, 24, 64, 96, 4, 6), (3, 40, 96, 64, 8, 5)),
)  # fmt: skip

import torch


def run(x, scores, gain, up, down, capacity):
    batch, _, experts = scores.shape
    probability, chosen = torch.softmax(scores, dim=-1).max(dim=-1)
    taken = torch.nn.functional.one_hot(chosen, experts)
    place = (taken.cumsum(dim=1) * taken).sum(dim=-1) - 1  # how many came before, in its sequence
    sequence, token = torch.where(place < capacity)
    expert = chosen[sequence, token]
    slot = sequence * capacity + place[sequence, token]

    buffer = x.new_zeros(experts, batch * capacity, x.shape[-1])
    buffer = buffer.index_put((expert, slot), rmsnorm(x, gain)[sequence, token])
    results = torch.relu(buffer @ up.transpose(1, 2)) @ down.transpose(1, 2)
    added = results[expert, slot] * probability[sequence, token, None]
    return x.index_put((sequence, token), added, accumulate=True)


def rmsnorm(values, gain):
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * gain
