"""Query, key and value projection with an NVFP4 weight, RMSNorm of each head's query and key, rotary embedding.

Activations stay in bfloat16: at few tokens the half byte a weight is what counts.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

WEIGHT = draw.nvfp4_blocks(rows="width", columns="hidden", fan_in="hidden")
PROBLEM = Problem(
    name="nvfp4_qkv_norm_rope_h5120_q64_kv8",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "nvidia/Qwen3-32B-FP4",
            "hidden_size 5120, num_attention_heads 64, num_key_value_heads 8, head_dim 128, "
            "rms_norm_eps 1e-6, rope_theta 1000000",
            read="its base model: citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 5120, "num_heads": 64, "num_kv_heads": 8, "head_dim": 128,
        "width": "(num_heads + 2 * num_kv_heads) * head_dim",
        "packed": "hidden // 2", "blocks": "hidden // 16",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "weight": weight("float4_e2m1fn_x2[width, packed]", WEIGHT["values"]),
        "weight_scales": weight("float8_e4m3fn[width, blocks]", WEIGHT["scales"]),
        "weight_global_scale": weight("float32[]", WEIGHT["global_scale"]),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight(label="key")),
        "positions": activation("int64[num_tokens]", draw.integers(high=8192)),
        "num_heads": scalar("int32", "num_heads"),
        "num_kv_heads": scalar("int32", "num_kv_heads"),
    },
    outputs={
        "query": "bfloat16[num_tokens, num_heads, head_dim]",
        "key": "bfloat16[num_tokens, num_kv_heads, head_dim]",
        "value": "bfloat16[num_tokens, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 4, 8, 12, 16, 24, 32, 50, 64, 100, 128, 256, 512, 1024, 2048)
    ),
    smoke=rows("num_tokens hidden num_heads num_kv_heads head_dim", (5, 256, 4, 2, 32), (24, 512, 6, 1, 16)),
)  # fmt: skip

import torch

VALUES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""What the sixteen codes of E2M1 stand for: a sign, two bits of exponent, one of mantissa."""


def run(
    x,
    weight,
    weight_scales,
    weight_global_scale,
    query_gain,
    key_gain,
    positions,
    num_heads,
    num_kv_heads,
):
    product = x.to(torch.float32) @ scaled(weight, weight_scales).T * weight_global_scale
    projected = product.unflatten(-1, (num_heads + 2 * num_kv_heads, -1))
    query, key, value = projected.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    half = projected.shape[-1] // 2
    steps = torch.arange(half, dtype=torch.float32, device=x.device) / half
    angles = positions[:, None, None].to(torch.float32) * 1000000.0**-steps
    query = rotated(normalised(query, query_gain), angles)
    key = rotated(normalised(key, key_gain), angles)
    return query.to(x.dtype), key.to(x.dtype), value.to(x.dtype)


def normalised(heads, gain):
    rms = torch.rsqrt(heads.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return heads * rms * gain.to(torch.float32)


def rotated(heads, angles):
    first, second = heads.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def scaled(packed, scales):
    """Codes times block scales: [rows, k]; the low half of a byte comes first."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2)
    values = torch.tensor(VALUES, device=packed.device)[codes.long()]
    return values * scales.to(torch.float32).repeat_interleave(16, dim=-1)
