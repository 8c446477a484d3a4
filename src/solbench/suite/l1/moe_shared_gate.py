"""Shared expert behind a gate: a small gated MLP that every token uses, scaled by a sigmoid of the token."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="moe_shared_gate_bf16_h2048_i512",
    tier="L1",
    family="moe",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "hidden_size 2048, shared_expert_intermediate_size 512",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={"num_tokens": var, "hidden": 2048, "inner": 512, "two_inner": "2 * inner"},
    inputs={
        "hidden_states": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "routed": activation("bfloat16[num_tokens, hidden]", draw.normal(std=0.3), EVERY_KIND),
        "gate_up": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "down": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "opening": weight("bfloat16[1, hidden]", draw.weight_matrix()),
    },
    outputs={"output": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 37, 64, 128, 256, 512, 900, 1024, 2048, 4096, 8192, 10000, 16384)
    ),
    smoke=rows("num_tokens hidden inner", (5, 128, 64), (24, 256, 96)),
)  # fmt: skip

import torch


def run(hidden_states, routed, gate_up, down, opening):
    gate, up = (hidden_states @ gate_up.T).to(torch.float32).chunk(2, dim=-1)
    inner = (torch.nn.functional.silu(gate) * up).to(hidden_states.dtype)
    share = torch.sigmoid((hidden_states @ opening.T).to(torch.float32))
    return (routed.to(torch.float32) + share * (inner @ down.T).to(torch.float32)).to(routed.dtype)
