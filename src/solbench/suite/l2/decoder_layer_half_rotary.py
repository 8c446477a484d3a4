"""A dense decoder layer with 96 heads of 128 on a width of 4096, half of each head rotated.

Query, key and value projections have biases. Twelve query heads share a key-value head.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="pairs", base=1000000.0, latest=1)
PROBLEM = Problem(
    name="decoder_layer_half_rotary_bf16_h4096",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "zai-org/GLM-4.5-Air",
            "its first, dense layer: hidden_size 4096, intermediate_size 10944, 96 heads, 8 "
            "key-value heads, head_dim 128, partial_rotary_factor 0.5, attention_bias",
            read="huggingface/transformers: configuration_glm4_moe.py",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 4096, "inner": 10944, "two_inner": "2 * inner",
        "num_heads": 96, "num_kv_heads": 8, "head_dim": 128, "pairs": "head_dim // 4",
        "query_width": "num_heads * head_dim", "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[seq_len, pairs]", ROPE["cos"]),
        "sin": activation("float32[seq_len, pairs]", ROPE["sin"]),
        "attention_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("bfloat16[qkv_width]", draw.normal(std=0.3)),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
        "mlp_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 300), (1, 512), (1, 1024), (1, 1500), (1, 2048), (1, 3000), (1, 4096),
        (2, 256), (2, 1024), (2, 2048), (4, 128), (4, 777), (8, 512), (16, 256), (32, 128),
    ),
    smoke=rows(
        "batch seq_len hidden inner num_heads num_kv_heads head_dim",
        (2, 9, 64, 128, 6, 2, 32), (1, 24, 96, 96, 8, 2, 16),
    ),
)  # fmt: skip

import torch


def run(
    x, cos, sin, attention_gain, qkv_weight, qkv_bias, output_weight, mlp_gain, gate_up_weight, down_weight
):  # fmt: skip
    head_dim = 4 * cos.shape[1]
    num_heads = output_weight.shape[1] // head_dim
    projected = rmsnorm(x, attention_gain) @ qkv_weight.T + qkv_bias
    heads = projected.unflatten(-1, (-1, head_dim)).transpose(1, 2)
    num_kv_heads = (heads.shape[1] - num_heads) // 2
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    attended = attention(rotate(query, cos, sin), rotate(key, cos, sin), value)
    x = x + attended @ output_weight.T
    gate, up = (rmsnorm(x, mlp_gain) @ gate_up_weight.T).to(torch.float32).chunk(2, dim=-1)
    return x + (torch.nn.functional.silu(gate) * up).to(x.dtype) @ down_weight.T


def attention(query, key, value):
    batch, num_heads, seq_len, head_dim = query.shape
    grouped = query.to(torch.float32).reshape(batch, key.shape[1], -1, seq_len, head_dim)
    logits = grouped @ key.to(torch.float32)[:, :, None].transpose(-1, -2) * head_dim**-0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = weights @ value.to(torch.float32)[:, :, None]
    output = output.reshape(batch, num_heads, seq_len, head_dim)
    return output.transpose(1, 2).flatten(2).to(query.dtype)


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    """The first half of a head's channels, in pairs that lie a quarter apart; the rest stays."""
    first, second, *rest = values.to(torch.float32).chunk(4, dim=-1)
    turned = [first * cos - second * sin, second * cos + first * sin]
    return torch.cat([*turned, *rest], dim=-1).to(values.dtype)
