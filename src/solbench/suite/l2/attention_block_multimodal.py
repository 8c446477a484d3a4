"""Attention block of a vision-language model in float32: biases, three-axis rotation, causal attention.

A token has a position in time, height and width; the frequencies 0 to 15 turn with the first, 16 to 39 with the
second, 40 to 63 with the third.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="table_rows", pairs="half_dim", base=1000000.0)
PROBLEM = Problem(
    name="attention_block_multimodal_fp32_h2048",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "Qwen/Qwen2.5-VL-3B-Instruct",
            "hidden_size 2048, 16 heads, 2 key-value heads, mrope_section 16, 24, 24, "
            "rope_theta 1000000",
            "multimodal",
            read="its text model, Qwen2.5-3B: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 2048, "num_heads": 16, "num_kv_heads": 2, "head_dim": 128,
        "half_dim": "head_dim // 2", "table_rows": "3 * seq_len", "query_width": "num_heads * head_dim",
        "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[table_rows, half_dim]", ROPE["cos"]),
        "sin": activation("float32[table_rows, half_dim]", ROPE["sin"]),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "qkv_weight": weight("float32[qkv_width, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("float32[qkv_width]", draw.normal(std=0.5)),
        "output_weight": weight("float32[hidden, query_width]", draw.weight_matrix()),
    },
    outputs={"y": "float32[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 300), (1, 512), (1, 1024), (1, 1536), (1, 2048), (1, 3000), (1, 4096),
        (2, 256), (2, 1024), (2, 2500), (3, 777), (4, 512), (4, 2048), (8, 256), (8, 1024),
    ),
    smoke=rows(
        "batch seq_len hidden num_heads num_kv_heads", (2, 9, 64, 4, 2), (1, 30, 96, 3, 1)
    ),
)  # fmt: skip

import torch

BANDS = (16, 24, 24)


def run(x, cos, sin, gain, qkv_weight, qkv_bias, output_weight):
    head_dim = 2 * cos.shape[-1]
    num_heads = output_weight.shape[1] // head_dim
    num_kv_heads = (qkv_weight.shape[0] // head_dim - num_heads) // 2
    cos, sin = by_band(cos), by_band(sin)
    projected = rmsnorm(x, gain) @ qkv_weight.T + qkv_bias
    heads = projected.unflatten(-1, (-1, head_dim)).transpose(1, 2)
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    grouped = rotate(query, cos, sin).unflatten(1, (num_kv_heads, -1))
    logits = grouped @ rotate(key, cos, sin)[:, :, None].transpose(-1, -2) * head_dim**-0.5
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    attended = (weights @ value[:, :, None]).flatten(1, 2).transpose(1, 2).flatten(2)
    return x + attended @ output_weight.T


def by_band(table):
    """Three tables, one after another in rows, to one that has each band from its own."""
    parts = [each.split(BANDS, dim=-1)[i] for i, each in enumerate(table.chunk(3))]
    return torch.cat(parts, dim=-1)


def rmsnorm(values, gain):
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * gain


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
