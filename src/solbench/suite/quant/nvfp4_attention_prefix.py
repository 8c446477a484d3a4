"""A chunk of queries over a long NVFP4 prefix: one softmax, no mask.

The chunk's own keys are treated elsewhere; the log-sum-exp leaves beside the result so that both can be merged.
"""

from solbench.suite import QUERY_KINDS, Model, Problem, activation, draw, rows, scalar, var

KEYS = draw.nvfp4_blocks(rows="cache_rows", columns="head_dim")
CACHED = draw.nvfp4_blocks(rows="cache_rows", columns="head_dim", label="values")
PROBLEM = Problem(
    name="nvfp4_attention_prefix_h40_kv8_d128",
    tier="Quant",
    family="attention",
    models=(
        Model(
            "nvidia/Qwen3-14B-FP4",
            "num_attention_heads 40, num_key_value_heads 8, head_dim 128",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "length": var, "prefix": var, "num_heads": 40, "num_kv_heads": 8, "head_dim": 128,
        "cache_rows": "num_kv_heads * prefix", "packed": "head_dim // 2", "blocks": "head_dim // 16",
    },
    inputs={
        "query": activation("bfloat16[num_heads, length, head_dim]", draw.normal(), QUERY_KINDS),
        "keys": activation("float4_e2m1fn_x2[cache_rows, packed]", KEYS["values"]),
        "key_scales": activation("float8_e4m3fn[cache_rows, blocks]", KEYS["scales"]),
        "key_global": activation("float32[]", KEYS["global_scale"]),
        "values": activation("float4_e2m1fn_x2[cache_rows, packed]", CACHED["values"]),
        "value_scales": activation("float8_e4m3fn[cache_rows, blocks]", CACHED["scales"]),
        "value_global": activation("float32[]", CACHED["global_scale"], ("scale",)),
        "num_kv_heads": scalar("int32", "num_kv_heads"),
    },
    outputs={"output": "bfloat16[num_heads, length, head_dim]", "lse": "float32[num_heads, length]"},
    workloads=rows(
        "length prefix",
        (16, 512), (16, 8192), (64, 1024), (100, 5000), (128, 2048), (128, 16384), (256, 4096), (256, 32768),
        (500, 3000), (512, 2048), (512, 8192), (1024, 1024), (1024, 8192), (2048, 4096), (2048, 16384),
        (4096, 8192),
    ),
    smoke=rows("length prefix num_heads num_kv_heads head_dim", (7, 40, 4, 2, 32), (24, 100, 6, 1, 64)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(query, keys, key_scales, key_global, values, value_scales, value_global, num_kv_heads):
    _, length, head_dim = query.shape
    cache = (num_kv_heads, 1, -1, head_dim)
    wide_keys = scaled(keys, key_scales).view(cache)
    wide_values = scaled(values, value_scales).view(cache)
    grouped = query.to(torch.float32).view(num_kv_heads, -1, length, head_dim)
    logits = grouped @ wide_keys.transpose(-1, -2) * (key_global * head_dim**-0.5)
    lse = torch.logsumexp(logits, dim=-1)
    weights = torch.exp(logits - lse[..., None])
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = (weights @ wide_values * value_global).to(query.dtype)
    return output.reshape(query.shape), lse.reshape(-1, length)


def scaled(packed, scales):
    """Codes times block scales, which bfloat16 holds exactly: [rows, channels]; the low half comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    wide = values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
    return wide.to(torch.bfloat16).to(torch.float32)
