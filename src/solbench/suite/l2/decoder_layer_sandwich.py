"""A decoder layer with a sliding window and norms on both sides of attention and of the MLP.

Gains are stored as their distance from one. Heads of queries and keys are normalised; the MLP is a GEGLU.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="half_dim", base=10000.0, latest=1)
PROBLEM = Problem(
    name="decoder_layer_sandwich_bf16_h3840_w1024",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "google/gemma-3-12b-it",
            "hidden_size 3840, intermediate_size 15360, 16 heads, 8 key-value heads, head_dim "
            "256, query_pre_attn_scalar 256, sliding_window 1024",
            "multimodal", read="google-deepmind/gemma: gemma/gm/nn, Gemma3 classes",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 3840, "inner": 15360, "num_heads": 16, "num_kv_heads": 8,
        "head_dim": 256, "half_dim": "head_dim // 2", "window": 1024,
        "query_width": "num_heads * head_dim", "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.normal(std=2.0), EVERY_KIND),
        "cos": activation("float32[seq_len, half_dim]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_dim]", ROPE["sin"]),
        "before_attention": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight(center=0.0)),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight(center=0.0)),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
        "after_attention": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
        "before_mlp": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
        "gate_weight": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "up_weight": weight("bfloat16[inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "after_mlp": weight("bfloat16[hidden]", draw.norm_weight(center=0.0)),
        "window": scalar("int32", "window"),
    },
    outputs={"y": "bfloat16[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 512), (1, 1024), (1, 1500), (1, 2048), (1, 3000), (1, 4096), (1, 6000),
        (2, 777), (2, 1024), (2, 4096), (4, 256), (4, 2048), (8, 512), (16, 128), (32, 128),
    ),
    smoke=rows(
        "batch seq_len hidden inner num_heads num_kv_heads head_dim window",
        (2, 12, 96, 128, 4, 2, 32, 5), (1, 30, 64, 96, 2, 1, 32, 16),
    ),
)  # fmt: skip

import torch


def run(
    x, cos, sin, before_attention, qkv_weight, query_gain, key_gain, output_weight, after_attention,
    before_mlp, gate_weight, up_weight, down_weight, after_mlp, window,
):  # fmt: skip
    batch, seq_len, _ = x.shape
    head_dim = 2 * cos.shape[1]
    num_heads = output_weight.shape[1] // head_dim
    heads = (rmsnorm(x, before_attention) @ qkv_weight.T).view(batch, seq_len, -1, head_dim)
    num_kv_heads = (heads.shape[2] - num_heads) // 2
    query, key, value = heads.transpose(1, 2).split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    query = rotate(rmsnorm(query, query_gain), cos, sin)
    key = rotate(rmsnorm(key, key_gain), cos, sin)
    attended = attention(query, key, value, window) @ output_weight.T
    x = x + rmsnorm(attended, after_attention)
    normalised = rmsnorm(x, before_mlp)
    gate = (normalised @ gate_weight.T).to(torch.float32)
    opening = torch.nn.functional.gelu(gate, approximate="tanh")
    inner = (opening * (normalised @ up_weight.T).to(torch.float32)).to(x.dtype)
    return x + rmsnorm(inner @ down_weight.T, after_mlp)


def attention(query, key, value, window):
    batch, num_heads, seq_len, head_dim = query.shape
    grouped = query.to(torch.float32).reshape(batch, key.shape[1], -1, seq_len, head_dim)
    logits = grouped @ key.to(torch.float32)[:, :, None].transpose(-1, -2) * head_dim**-0.5
    place = torch.arange(seq_len, device=query.device)
    distance = place[:, None] - place
    hidden = (distance < 0) | (distance >= window)
    weights = torch.softmax(logits.masked_fill(hidden, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = weights @ value.to(torch.float32)[:, :, None]
    output = output.reshape(batch, num_heads, seq_len, head_dim)
    return output.transpose(1, 2).flatten(2).to(query.dtype)


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * (1.0 + gain.to(torch.float32))).to(values.dtype)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
