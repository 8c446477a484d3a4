"""Backward of a whole attention block in float32: projections, causal grouped attention, rotation.

The forward kept the rotated queries and keys, the values, what attention returned and its log-sum-exp.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    var,
    weight,
)

ROPE = draw.rope_table(tokens="seq_len", pairs="half_dim", base=500000.0, latest=1)
SAVED = computed("saved", "x", "cos", "sin", "qkv_weight", "output_weight")
PROBLEM = Problem(
    name="attention_block_backward_fp32_h3072",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "meta-llama/Llama-3.2-3B",
            "hidden_size 3072, 24 heads, 8 key-value heads, rope_theta 500000",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 3072, "num_heads": 24, "num_kv_heads": 8, "head_dim": 128,
        "half_dim": "head_dim // 2", "query_width": "num_heads * head_dim",
        "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "grad_y": activation("float32[batch, seq_len, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, seq_len, hidden]", draw.normal()),
        "cos": activation("float32[seq_len, half_dim]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_dim]", ROPE["sin"]),
        "qkv_weight": weight("float32[qkv_width, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, query_width]", draw.weight_matrix()),
        "query": activation("float32[batch, num_heads, seq_len, head_dim]", SAVED[0]),
        "key": activation("float32[batch, num_kv_heads, seq_len, head_dim]", SAVED[1]),
        "value": activation("float32[batch, num_kv_heads, seq_len, head_dim]", SAVED[2]),
        "attended": activation("float32[batch, num_heads, seq_len, head_dim]", SAVED[3]),
        "lse": activation("float32[batch, num_heads, seq_len]", SAVED[4]),
    },
    outputs={
        "grad_x": "float32[batch, seq_len, hidden]",
        "grad_qkv_weight": "float32[qkv_width, hidden]",
        "grad_output_weight": "float32[hidden, query_width]",
    },
    gradient=Gradient(
        "forward", ("x", "cos", "sin", "qkv_weight", "output_weight"), ("grad_y",),
        ("x", "qkv_weight", "output_weight"),
    ),
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 256), (1, 512), (1, 777), (1, 1024), (1, 1500), (1, 2048), (1, 4096),
        (2, 128), (2, 500), (2, 1024), (2, 2048), (4, 256), (4, 1024), (8, 128), (8, 512),
    ),
    smoke=rows(
        "batch seq_len hidden num_heads num_kv_heads head_dim", (2, 9, 64, 4, 2, 16), (1, 30, 96, 3, 1, 32)
    ),
)  # fmt: skip

import torch


def saved(x, cos, sin, qkv_weight, output_weight):
    head_dim = 2 * cos.shape[-1]
    num_heads = output_weight.shape[1] // head_dim
    num_kv_heads = (qkv_weight.shape[0] // head_dim - num_heads) // 2
    heads = (x @ qkv_weight.T).unflatten(-1, (-1, head_dim)).transpose(1, 2)
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    query, key = rotate(query, cos, sin), rotate(key, cos, sin)
    logits = masked_logits(query, key)
    lse = torch.logsumexp(logits, dim=-1)
    attended = torch.exp(logits - lse[..., None]) @ value[:, :, None]
    return query, key, value, attended.flatten(1, 2), lse.flatten(1, 2)


def forward(x, cos, sin, qkv_weight, output_weight):
    attended = saved(x, cos, sin, qkv_weight, output_weight)[3]
    return attended.transpose(1, 2).flatten(2) @ output_weight.T


def masked_logits(query, key):
    """[batch, kv_heads, group, query, key]; later keys at -inf."""
    grouped = query.unflatten(1, (key.shape[1], -1))
    logits = grouped @ key[:, :, None].transpose(-1, -2) * key.shape[-1] ** -0.5
    later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=query.device).triu(1)
    return logits.masked_fill(later, float("-inf"))


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def run(grad_y, x, cos, sin, qkv_weight, output_weight, query, key, value, attended, lse):
    num_kv_heads, head_dim = key.shape[1], key.shape[-1]
    joined = attended.transpose(1, 2).flatten(2)
    grad_output_weight = grad_y.flatten(0, 1).T @ joined.flatten(0, 1)
    upstream = (grad_y @ output_weight).unflatten(-1, (num_kv_heads, -1, head_dim)).movedim(1, 3)
    weights = torch.exp(masked_logits(query, key) - lse.unflatten(1, (num_kv_heads, -1))[..., None])
    grad_value = (weights.transpose(-1, -2) @ upstream).sum(dim=2)
    along = (upstream * attended.unflatten(1, (num_kv_heads, -1))).sum(dim=-1, keepdim=True)
    grad_weights = upstream @ value[:, :, None].transpose(-1, -2)
    grad_logits = weights * (grad_weights - along) * head_dim**-0.5
    grad_query = (grad_logits @ key[:, :, None]).flatten(1, 2)
    grouped = query.unflatten(1, (num_kv_heads, -1))
    grad_key = (grad_logits.transpose(-1, -2) @ grouped).sum(dim=2)
    # The transpose of a rotation turns back.
    turned = [rotate(grad_query, cos, -sin), rotate(grad_key, cos, -sin), grad_value]
    grad_heads = torch.cat(turned, dim=1).transpose(1, 2).flatten(2)
    grad_qkv_weight = grad_heads.flatten(0, 1).T @ x.flatten(0, 1)
    return grad_heads @ qkv_weight, grad_qkv_weight, grad_output_weight
