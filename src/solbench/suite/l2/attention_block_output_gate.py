"""Gated attention block: the query projection makes a gate too, whose sigmoid scales what attention returns.

Zero-centred norms of queries and keys, rotation of the first quarter of a head only, two key-value heads.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="pairs", base=10000000.0)
PROBLEM = Problem(
    name="attention_block_output_gate_bf16_h2048",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "Qwen/Qwen3-Next-80B-A3B-Instruct",
            "hidden_size 2048, 16 heads, 2 key-value heads, head_dim 256, "
            "partial_rotary_factor 0.25",
            read="ai-dynamo/aiconfigurator: Qwen--Qwen3-Next-80B-A3B-Thinking",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 2048, "num_heads": 16, "num_kv_heads": 2, "head_dim": 256,
        "pairs": "head_dim // 8", "query_width": "num_heads * head_dim", "both_width": "2 * query_width",
        "key_width": "num_kv_heads * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.residual_stream(std=0.2), EVERY_KIND),
        "cos": activation("float32[seq_len, pairs]", ROPE["cos"]),
        "sin": activation("float32[seq_len, pairs]", ROPE["sin"]),
        "gain": weight("bfloat16[hidden]", draw.normal(std=0.3)),
        "query_gate_weight": weight("bfloat16[both_width, hidden]", draw.weight_matrix()),
        "key_weight": weight("bfloat16[key_width, hidden]", draw.weight_matrix()),
        "value_weight": weight("bfloat16[key_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[head_dim]", draw.normal(std=0.3)),
        "key_gain": weight("bfloat16[head_dim]", draw.normal(std=0.3)),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 20), (1, 64), (1, 256), (1, 777), (1, 1024), (1, 2048), (1, 4096), (1, 8192),
        (2, 512), (2, 1500), (2, 4096), (4, 256), (4, 2048), (8, 128), (8, 1024), (16, 333),
    ),
    smoke=rows(
        "batch seq_len hidden num_heads num_kv_heads head_dim", (2, 9, 64, 4, 2, 32), (1, 30, 96, 3, 1, 64)
    ),
)  # fmt: skip

import torch


def run(
    x, cos, sin, gain, query_gate_weight, key_weight, value_weight, query_gain, key_gain, output_weight,
):  # fmt: skip
    head_dim, seq_len = query_gain.shape[0], x.shape[1]
    normalised = rmsnorm(x, gain)
    both = (normalised @ query_gate_weight.T).unflatten(-1, (-1, 2 * head_dim))
    query, gate = both.chunk(2, dim=-1)  # each [batch, seq_len, heads, head_dim]
    key = (normalised @ key_weight.T).unflatten(-1, (-1, head_dim))
    value = (normalised @ value_weight.T).unflatten(-1, (-1, head_dim))
    query = rotate(rmsnorm(query, query_gain), cos, sin).to(torch.float32).transpose(1, 2)
    key = rotate(rmsnorm(key, key_gain), cos, sin).to(torch.float32).transpose(1, 2)
    grouped = query.unflatten(1, (key.shape[1], -1))
    logits = grouped @ key[:, :, None].transpose(-1, -2) * head_dim**-0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=x.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = weights @ value.to(torch.float32).transpose(1, 2)[:, :, None]
    attended = attended.flatten(1, 2).transpose(1, 2) * torch.sigmoid(gate.to(torch.float32))
    return x + attended.flatten(2).to(x.dtype) @ output_weight.T


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * (1.0 + gain.to(torch.float32))).to(values.dtype)


def rotate(values, cos, sin):
    """Turns the first channels of a head, twice as many as a table has; the others stay."""
    cos, sin, pairs = cos[:, None], sin[:, None], cos.shape[-1]
    first, second, rest = values.to(torch.float32).tensor_split([pairs, 2 * pairs], dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin, rest], dim=-1)
    return turned.to(values.dtype)
