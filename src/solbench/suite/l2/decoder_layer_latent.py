"""A dense decoder layer with latent attention for prefill: low-rank queries, keys and values, gated MLP.

Queries come from a latent of 1536 channels, keys and values of all heads from one of 512. Of a key's 192
channels 64 are rotated and shared by all heads.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="pairs", base=10000.0, latest=1)
PROBLEM = Problem(
    name="decoder_layer_latent_bf16_h7168",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "its first three layers: hidden_size 7168, intermediate_size 18432, "
            "num_attention_heads 128, q_lora_rank 1536, kv_lora_rank 512, qk_nope_head_dim "
            "128, qk_rope_head_dim 64, v_head_dim 128",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 7168, "inner": 18432, "two_inner": "2 * inner", "heads": 128,
        "query_rank": 1536, "rank": 512, "plain": 128, "pairs": 32, "value_dim": 128,
        "down_width": "query_rank + rank + 2 * pairs", "query_width": "heads * (plain + 2 * pairs)",
        "expanded": "heads * (plain + value_dim)", "value_width": "heads * value_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[seq_len, pairs]", ROPE["cos"]),
        "sin": activation("float32[seq_len, pairs]", ROPE["sin"]),
        "attention_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "compress": weight("bfloat16[down_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[query_rank]", draw.norm_weight()),
        "query_expand": weight("bfloat16[query_width, query_rank]", draw.weight_matrix()),
        "latent_gain": weight("bfloat16[rank]", draw.norm_weight()),
        "expand": weight("bfloat16[expanded, rank]", draw.weight_matrix()),
        "output_weight": weight("bfloat16[hidden, value_width]", draw.weight_matrix()),
        "mlp_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "heads": scalar("int32", "heads"),
    },
    outputs={"y": "bfloat16[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 64), (1, 128), (1, 300), (1, 512), (1, 1024), (1, 1500), (1, 2048), (1, 3000),
        (1, 4096), (2, 128), (2, 777), (2, 1024), (4, 256), (4, 512), (8, 128), (16, 64),
    ),
    smoke=rows(
        "batch seq_len hidden inner heads query_rank rank plain pairs value_dim",
        (2, 9, 96, 128, 4, 48, 32, 16, 4, 16), (1, 20, 64, 96, 2, 32, 48, 24, 8, 32),
    ),
)  # fmt: skip

import torch


def run(
    x, cos, sin, attention_gain, compress, query_gain, query_expand, latent_gain, expand, output_weight,
    mlp_gain, gate_up_weight, down_weight, heads,
):  # fmt: skip
    value_dim = output_weight.shape[1] // heads
    plain = expand.shape[0] // heads - value_dim
    turning = 2 * cos.shape[1]
    compressed = rmsnorm(x, attention_gain) @ compress.T
    sizes = [query_gain.shape[0], latent_gain.shape[0], turning]
    query_latent, latent, shared_key = compressed.split(sizes, dim=-1)

    query = rmsnorm(query_latent, query_gain) @ query_expand.T
    query, turned_query = (
        query.unflatten(-1, (heads, -1)).transpose(1, 2).split([plain, turning], dim=-1)
    )
    expanded = (rmsnorm(latent, latent_gain) @ expand.T).unflatten(-1, (heads, -1)).transpose(1, 2)
    key, value = expanded.split([plain, value_dim], dim=-1)
    query = torch.cat([query, rotate(turned_query, cos, sin)], dim=-1)
    turned_key = rotate(shared_key[:, None], cos, sin).expand(-1, heads, -1, -1)
    x = x + attention(query, torch.cat([key, turned_key], dim=-1), value) @ output_weight.T

    gate, up = (rmsnorm(x, mlp_gain) @ gate_up_weight.T).to(torch.float32).chunk(2, dim=-1)
    return x + (torch.nn.functional.silu(gate) * up).to(x.dtype) @ down_weight.T


def attention(query, key, value):
    seq_len = query.shape[2]
    logits = query.to(torch.float32) @ key.to(torch.float32).transpose(-1, -2)
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    scaled = (logits * query.shape[-1] ** -0.5).masked_fill(later, float("-inf"))
    weights = torch.softmax(scaled, dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ value.to(torch.float32)).transpose(1, 2).flatten(2).to(query.dtype)


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    """Neighbouring channels form a pair."""
    even, odd = values.to(torch.float32).unflatten(-1, (-1, 2)).unbind(dim=-1)
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.flatten(-2).to(values.dtype)
