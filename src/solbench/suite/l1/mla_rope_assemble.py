"""Queries and keys of latent attention put together: rotate the 64 rotary channels, join them to the others.

Pairs are neighbours (2i, 2i + 1). The key has one rotary part that all heads share, copied to each of them.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_rope", base=10000.0)
PROBLEM = Problem(
    name="mla_rope_assemble_bf16_h128_d192",
    tier="L1",
    family="rope",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "num_attention_heads 128, qk_nope_head_dim 128, qk_rope_head_dim 64, rope_theta "
            "10000",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
        Model(
            "moonshotai/Kimi-K2-Instruct",
            "num_attention_heads 64, qk_nope_head_dim 128, qk_rope_head_dim 64",
            read="ai-dynamo/aiconfigurator: moonshotai--Kimi-K2-Instruct",
        ),
    ),
    axes={
        "num_tokens": var, "num_heads": 128, "plain_dim": 128, "rope_dim": 64,
        "half_rope": "rope_dim // 2", "head_dim": "plain_dim + rope_dim",
    },
    inputs={
        "query": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(), EVERY_KIND),
        "key_plain": activation("bfloat16[num_tokens, num_heads, plain_dim]", draw.normal(), EVERY_KIND),
        "key_rope": activation("bfloat16[num_tokens, rope_dim]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[num_tokens, half_rope]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_rope]", ROPE["sin"]),
    },
    outputs={
        "query_out": "bfloat16[num_tokens, num_heads, head_dim]",
        "key_out": "bfloat16[num_tokens, num_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens num_heads",
        (1, 128), (7, 128), (16, 64), (64, 128), (100, 16), (128, 128), (256, 64), (500, 128),
        (512, 16), (1024, 128), (1024, 64), (2048, 128), (3000, 16), (4096, 128), (4096, 64), (8192, 128),
    ),
    smoke=rows("num_tokens num_heads", (5, 4), (24, 8)),
)  # fmt: skip

import torch


def run(query, key_plain, key_rope, cos, sin):
    plain_dim = key_plain.shape[-1]
    query_plain, query_rope = query[..., :plain_dim], query[..., plain_dim:]
    query_rope = rotate(query_rope, cos[:, None], sin[:, None])
    key_rope = rotate(key_rope, cos, sin)[:, None].expand(-1, query.shape[1], -1)
    return torch.cat([query_plain, query_rope], dim=-1), torch.cat([key_plain, key_rope], dim=-1)


def rotate(values, cos, sin):
    even, odd = values[..., 0::2].to(torch.float32), values[..., 1::2].to(torch.float32)
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.flatten(-2).to(values.dtype)
