"""Gated delta rule over a prompt in float32: convolution, chunked recurrence, gated norm, output projection.

A head's state maps keys to values. Each token lets it fade, reads what it holds for the token's key, and writes
the difference to the token's value, weighed by beta. Within a chunk of 64 the differences depend on each other
through a triangular system, solved for all chunks at once; the state is handed from chunk to chunk.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

PROBLEM = Problem(
    name="gated_delta_block_fp32_k16_v32_d128",
    tier="L2",
    family="ssm_block",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "linear_num_key_heads 16, linear_num_value_heads 32, head dims 128, "
            "linear_conv_kernel_dim 4",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "key_heads": 16, "value_heads": 32, "head_dim": 128, "hidden": 2048,
        "chunk": 64, "inner": "value_heads * head_dim", "mixed": "2 * key_heads * head_dim + inner",
    },
    constraints=("seq_len % chunk == 0", "value_heads % key_heads == 0"),
    inputs={
        "mixed": activation("float32[batch, seq_len, mixed]", draw.normal(), EVERY_KIND),
        "gate": activation("float32[batch, seq_len, inner]", draw.normal(), EVERY_KIND),
        "beta": activation("float32[batch, seq_len, value_heads]", draw.normal()),
        "step": activation("float32[batch, seq_len, value_heads]", draw.normal(std=0.5)),
        "kernel": weight("float32[mixed, 1, 4]", draw.weight_matrix()),
        "step_bias": weight("float32[value_heads]", draw.normal(mean=-2.0)),
        "log_rate": weight("float32[value_heads]", draw.uniform(low=0.0, high=2.0)),
        "gain": weight("float32[head_dim]", draw.norm_weight()),
        "output_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "chunk": scalar("int32", "chunk"),
    },
    outputs={
        "y": "float32[batch, seq_len, hidden]",
        "last_state": "float32[batch, value_heads, head_dim, head_dim]",
    },
    workloads=rows(
        "batch seq_len",
        (1, 64), (1, 128), (1, 320), (1, 512), (1, 1024), (1, 2048), (1, 3008), (1, 4096),
        (2, 256), (2, 1024), (2, 2048), (3, 704), (4, 512), (4, 1024), (8, 128), (8, 512),
    ),
    smoke=rows(
        "batch seq_len key_heads value_heads head_dim hidden chunk",
        (2, 24, 2, 4, 16, 48, 8), (1, 48, 3, 3, 32, 64, 16),
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    mixed, gate, beta, step, kernel, step_bias, log_rate, gain, output_weight, chunk
):  # fmt: skip
    value_heads, head_dim = step_bias.shape[0], gain.shape[0]
    early = functional.pad(mixed.transpose(1, 2), (kernel.shape[-1] - 1, 0))
    convolved = functional.silu(functional.conv1d(early, kernel, groups=mixed.shape[-1]))
    heads = convolved.unflatten(1, (-1, head_dim)).transpose(
        2, 3
    )  # [batch, heads, seq_len, head_dim]
    key_heads = (heads.shape[1] - value_heads) // 2
    query, key, value = heads.split([key_heads, key_heads, value_heads], dim=1)
    group = value_heads // key_heads
    query = unit(query).repeat_interleave(group, dim=1) * head_dim**-0.5
    key = unit(key).repeat_interleave(group, dim=1)
    log_decay = -torch.exp(log_rate) * functional.softplus(step + step_bias)
    weight = torch.sigmoid(beta).transpose(1, 2)
    read, state = delta_rule(query, key, value, log_decay.transpose(1, 2), weight, chunk)
    read = read.transpose(1, 2)  # [batch, seq_len, heads, head_dim]
    normalised = read * torch.rsqrt(read.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * gain
    return (normalised.flatten(2) * functional.silu(gate)) @ output_weight.T, state


def unit(values):
    return values * torch.rsqrt(values.pow(2).sum(dim=-1, keepdim=True) + 1e-6)


def delta_rule(query, key, value, log_decay, weight, chunk):
    query, key, value, log_decay, weight = (
        each.unflatten(2, (-1, chunk)) for each in (query, key, value, log_decay, weight)
    )
    passed = log_decay.cumsum(dim=-1)[..., None]  # log of the fading since the chunk began
    later = torch.ones(chunk, chunk, dtype=torch.bool, device=key.device).triu(1)
    decay = torch.exp((passed - passed.transpose(-1, -2)).masked_fill(later, float("-inf")))
    coupling = (weight[..., None] * (key @ key.transpose(-1, -2)) * decay).tril(-1)
    solved = weight[..., None] * torch.cat([value, torch.exp(passed) * key], dim=-1)
    for row in range(1, chunk):  # forward substitution: a row depends on the rows before it
        before = coupling[..., row : row + 1, :row] @ solved[..., :row, :]
        solved[..., row : row + 1, :] -= before
    fresh, from_state = solved.tensor_split([value.shape[-1]], dim=-1)
    inside = query @ key.transpose(-1, -2) * decay
    to_end = torch.exp(passed[..., -1:, :] - passed) * key
    asked = torch.exp(passed) * query
    through = torch.exp(passed[..., -1:, :])
    state = torch.zeros_like(key[:, :, 0, :1].transpose(-1, -2) * value[:, :, 0, :1])
    read = []
    for index in range(key.shape[2]):
        written = fresh[:, :, index] - from_state[:, :, index] @ state
        read.append(asked[:, :, index] @ state + inside[:, :, index] @ written)
        state = through[:, :, index] * state + to_end[:, :, index].transpose(-1, -2) @ written
    return torch.cat(read, dim=2), state
