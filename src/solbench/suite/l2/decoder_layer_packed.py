"""A decoder layer with query and key norms on packed sequences: norm, attention, norm, gated MLP, residuals.

Sequences lie one after another without padding; a token sees earlier ones of its own sequence, and positions
start anew with each. Every head's query and key is normalised before its rotation.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_dim", base=1000000.0, latest=1)
PACKED = draw.ragged_lengths(sequences="sequences", total="num_tokens", least=1, spread=0.7)
PROBLEM = Problem(
    name="decoder_layer_packed_bf16_h2560",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "Qwen/Qwen3-4B",
            "hidden_size 2560, intermediate_size 9728, 32 heads, 8 key-value heads, head_dim "
            "128, rope_theta 1000000",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "sequences": var, "num_tokens": var, "hidden": 2560, "inner": 9728, "two_inner": "2 * inner",
        "num_heads": 32, "num_kv_heads": 8, "head_dim": 128, "half_dim": "head_dim // 2",
        "query_width": "num_heads * head_dim", "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "lengths": activation("int32[sequences]", PACKED["lengths"]),
        "cos": activation("float32[num_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_dim]", ROPE["sin"]),
        "attention_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
        "mlp_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "sequences num_tokens",
        (1, 128), (1, 1000), (1, 4096), (2, 512), (2, 2048), (3, 777), (4, 1024), (4, 4096),
        (6, 3000), (8, 512), (8, 2048), (12, 4000), (16, 1024), (16, 4096), (32, 2048), (64, 4096),
    ),
    smoke=rows(
        "sequences num_tokens hidden inner num_heads num_kv_heads head_dim",
        (3, 14, 96, 128, 4, 2, 32), (1, 20, 64, 96, 4, 1, 16),
    ),
)  # fmt: skip

import torch


def run(
    x, lengths, cos, sin, attention_gain, qkv_weight, query_gain, key_gain, output_weight,
    mlp_gain, gate_up_weight, down_weight,
):  # fmt: skip
    head_dim = 2 * cos.shape[1]
    num_heads = output_weight.shape[1] // head_dim
    heads = (
        (rmsnorm(x, attention_gain) @ qkv_weight.T).view(x.shape[0], -1, head_dim).transpose(0, 1)
    )
    num_kv_heads = (heads.shape[0] - num_heads) // 2
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads])
    sequence, position = places(lengths, x.shape[0])
    query = rotate(rmsnorm(query, query_gain), cos[position], sin[position])
    key = rotate(rmsnorm(key, key_gain), cos[position], sin[position])
    hidden = (sequence[:, None] != sequence) | (position[:, None] < position)
    x = x + attention(query, key, value, hidden) @ output_weight.T
    gate, up = (rmsnorm(x, mlp_gain) @ gate_up_weight.T).to(torch.float32).chunk(2, dim=-1)
    return x + (torch.nn.functional.silu(gate) * up).to(x.dtype) @ down_weight.T


def places(lengths, num_tokens):
    """Of each token: the number of its sequence, and its position in it."""
    ends = lengths.cumsum(0)
    token = torch.arange(num_tokens, device=lengths.device)
    sequence = (token[:, None] >= ends).sum(dim=1)
    return sequence, token - (ends - lengths)[sequence]


def attention(query, key, value, hidden):
    _, num_tokens, head_dim = query.shape
    grouped = query.to(torch.float32).view(key.shape[0], -1, num_tokens, head_dim)
    logits = grouped @ key.to(torch.float32)[:, None].transpose(-1, -2) * head_dim**-0.5
    weights = torch.softmax(logits.masked_fill(hidden, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = (weights @ value.to(torch.float32)[:, None]).reshape(query.shape)
    return output.transpose(0, 1).flatten(1).to(query.dtype)


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
