"""Decode step of latent attention over an FP8 cache: 512 latent channels in tiles of 128 with a scale each.

The cache is expanded to bfloat16, which its 64 rotary channels have already. Sequences have the same capacity,
each its own length.
"""

from solbench.suite import KEY_KINDS, QUERY_KINDS, Model, Problem, activation, draw, rows, var

CACHE = draw.fp8_blocks(rows="cache_rows", columns="latent", block_rows=1)
LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="fp8_latent_decode_h128_c512_r64",
    tier="Quant",
    family="attention",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3.2-Exp",
            "num_attention_heads 128, kv_lora_rank 512, qk_rope_head_dim 64; FP8 cache with "
            "scales for 128",
            read="deepseek-ai/DeepSeek-V3.2-Exp: inference/model.py",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var, "num_heads": 128, "latent": 512, "rope": 64,
        "cache_rows": "batch * capacity", "tiles": "latent // 128",
    },
    inputs={
        "query_latent": activation("bfloat16[batch, num_heads, latent]", draw.normal(std=0.5), QUERY_KINDS),
        "query_rope": activation("bfloat16[batch, num_heads, rope]", draw.normal(), QUERY_KINDS),
        "cache": activation("float8_e4m3fn[cache_rows, latent]", CACHE["values"]),
        "cache_scales": activation("float32[cache_rows, tiles]", CACHE["scales"]),
        "key_rope": activation("bfloat16[batch, capacity, rope]", draw.normal(), KEY_KINDS),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
    },
    outputs={"output": "bfloat16[batch, num_heads, latent]"},
    workloads=rows(
        "batch capacity total_keys",
        (1, 512, 400), (1, 4096, 4000), (1, 32768, 30000), (2, 2048, 3000), (3, 1000, 2000), (4, 1024, 3000),
        (4, 8192, 20000), (8, 2048, 12000), (8, 8192, 50000), (16, 1024, 12000), (16, 4096, 40000),
        (32, 512, 12000), (32, 2048, 50000), (48, 1024, 40000), (64, 1024, 50000), (64, 2048, 100000),
    ),
    smoke=rows("batch capacity total_keys num_heads latent", (3, 20, 40, 4, 128), (2, 64, 100, 3, 256)),
)  # fmt: skip

import torch


def run(query_latent, query_rope, cache, cache_scales, key_rope, lengths):
    batch, capacity, rope = key_rope.shape
    latent = cache.to(torch.float32) * cache_scales.repeat_interleave(128, dim=1)
    latent = latent.to(torch.bfloat16).to(torch.float32).view(batch, capacity, -1)
    logits = query_latent.to(torch.float32) @ latent.transpose(1, 2)
    logits = logits + query_rope.to(torch.float32) @ key_rope.to(torch.float32).transpose(1, 2)
    stale = torch.arange(capacity, device=cache.device) >= lengths[:, None, None]
    logits = (logits * (128 + rope) ** -0.5).masked_fill(stale, float("-inf"))
    weights = torch.softmax(logits, dim=-1)
    weights = weights.to(query_latent.dtype).to(
        torch.float32
    )  # as a kernel's second product takes them
    return (weights @ latent).to(query_latent.dtype)
