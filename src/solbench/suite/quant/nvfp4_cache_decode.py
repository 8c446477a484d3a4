"""Decode step of attention over an NVFP4 cache: each 16 channels of a cached key or value have a scale.

One global scale for keys and one for values; each sequence has its own length.
"""

from solbench.suite import QUERY_KINDS, Model, Problem, activation, draw, rows, scalar, var

KEYS = draw.nvfp4_blocks(rows="cache_rows", columns="head_dim")
VALUES = draw.nvfp4_blocks(rows="cache_rows", columns="head_dim", label="values")
LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="nvfp4_cache_decode_h32_kv8_d128",
    tier="Quant",
    family="attention",
    models=(
        Model(
            "nvidia/Qwen3-8B-FP4",
            "num_attention_heads 32, num_key_value_heads 8, head_dim 128",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var, "num_heads": 32, "num_kv_heads": 8,
        "head_dim": 128, "cache_rows": "batch * num_kv_heads * capacity",
        "packed": "head_dim // 2", "blocks": "head_dim // 16",
    },
    inputs={
        "query": activation("bfloat16[batch, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
        "keys": activation("float4_e2m1fn_x2[cache_rows, packed]", KEYS["values"]),
        "key_scales": activation("float8_e4m3fn[cache_rows, blocks]", KEYS["scales"]),
        "key_global": activation("float32[]", KEYS["global_scale"]),
        "values": activation("float4_e2m1fn_x2[cache_rows, packed]", VALUES["values"]),
        "value_scales": activation("float8_e4m3fn[cache_rows, blocks]", VALUES["scales"]),
        "value_global": activation("float32[]", VALUES["global_scale"], ("scale",)),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
        "capacity": scalar("int32", "capacity"),
    },
    outputs={"output": "bfloat16[batch, num_heads, head_dim]"},
    workloads=rows(
        "batch capacity total_keys",
        (1, 512, 400), (1, 4096, 4000), (1, 16384, 15000), (2, 2048, 3000), (4, 1024, 3000), (4, 8192, 20000),
        (7, 3000, 15000), (8, 2048, 12000), (8, 8192, 50000), (16, 1024, 12000), (16, 4096, 40000),
        (32, 512, 12000), (32, 2048, 50000), (48, 1024, 40000), (64, 1024, 50000), (64, 4096, 200000),
    ),
    smoke=rows("batch capacity total_keys num_heads num_kv_heads", (3, 20, 40, 4, 2), (2, 64, 100, 8, 1)),
)  # fmt: skip

import torch

CODES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(query, keys, key_scales, key_global, values, value_scales, value_global, lengths, capacity):
    batch, _, head_dim = query.shape
    caches = (batch, -1, capacity, head_dim)
    wide_keys = expanded(keys, key_scales, key_global).view(caches)
    wide_values = expanded(values, value_scales, value_global).view(caches)
    grouped = query.to(torch.float32).view(batch, wide_keys.shape[1], -1, head_dim)
    logits = grouped @ wide_keys.transpose(-1, -2) * head_dim**-0.5
    stale = torch.arange(capacity, device=query.device) >= lengths[:, None]
    weights = torch.softmax(logits.masked_fill(stale[:, None, None], float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ wide_values).reshape(query.shape).to(query.dtype)


def expanded(packed, scales, global_scale):
    """Codes times scales, in bfloat16: [rows, channels]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(CODES, device=packed.device)[codes.long()]
    wide = values * scales.to(torch.float32).repeat_interleave(16, dim=-1) * global_scale
    return wide.to(torch.bfloat16).to(torch.float32)
