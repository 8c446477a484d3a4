"""One decode step of the gated delta rule: forget, correct what the state says of the key, read with the query.

The state of a head maps keys to values. It decays by the gate, then the error between the new value and what it
returns for the key is written back, as strongly as beta says. Two value heads share a key head.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

PROBLEM = Problem(
    name="ssm_delta_decode_fp32_k16_v32_d128",
    tier="L1",
    family="ssm",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "linear_num_key_heads 16, linear_num_value_heads 32, linear_key_head_dim 128, "
            "linear_value_head_dim 128",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={"batch": var, "key_heads": 16, "value_heads": 32, "key_dim": 128, "value_dim": 128},
    inputs={
        "query": activation("float32[batch, key_heads, key_dim]", draw.normal(), EVERY_KIND),
        "key": activation("float32[batch, key_heads, key_dim]", draw.normal()),
        "value": activation("float32[batch, value_heads, value_dim]", draw.normal(), EVERY_KIND),
        "log_gate": activation("float32[batch, value_heads]", draw.uniform(low=-1.0, high=-0.01)),
        "beta": activation("float32[batch, value_heads]", draw.uniform(low=0.1)),
        "state": activation(
            "float32[batch, value_heads, key_dim, value_dim]", draw.normal(std=0.3), EVERY_KIND
        ),
    },
    outputs={
        "output": "float32[batch, value_heads, value_dim]",
        "new_state": "float32[batch, value_heads, key_dim, value_dim]",
    },
    workloads=rows(
        "batch", *(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 128, 200, 256)
    ),
    smoke=rows("batch key_heads value_heads key_dim value_dim", (2, 2, 4, 16, 16), (3, 2, 4, 32, 64)),
)  # fmt: skip

import torch


def run(query, key, value, log_gate, beta, state):
    shared = value.shape[1] // key.shape[1]
    unit_key = unit(key).repeat_interleave(shared, dim=1)
    unit_query = unit(query).repeat_interleave(shared, dim=1) * query.shape[-1] ** -0.5
    kept = state * torch.exp(log_gate)[..., None, None]
    error = value - (unit_key[..., None] * kept).sum(dim=-2)
    new_state = kept + unit_key[..., None] * (beta[..., None] * error)[..., None, :]
    return (unit_query[..., None] * new_state).sum(dim=-2), new_state


def unit(values):
    return values * torch.rsqrt(values.pow(2).sum(dim=-1, keepdim=True) + 1e-6)
