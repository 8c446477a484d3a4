"""Per-head RMSNorm of queries and keys, then rotary embedding, from the output of the joint projection.

The projection's rows hold queries, keys and values of a token side by side; values are not touched.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_dim", base=1000000.0)
PROBLEM = Problem(
    name="qk_norm_rope_bf16_h32_kv4_d128",
    tier="L1",
    family="rope",
    models=(
        Model(
            "Qwen/Qwen3-30B-A3B",
            "num_attention_heads 32, num_key_value_heads 4, head_dim 128, rms_norm_eps 1e-6",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
        Model(
            "Qwen/Qwen3-Omni-30B-A3B-Instruct",
            "thinker: num_attention_heads 32, num_key_value_heads 4, head_dim 128",
            "multimodal", read="keras-team/keras-hub: qwen3_omni_presets.py",
        ),
    ),
    axes={
        "num_tokens": var, "num_heads": 32, "num_kv_heads": 4, "head_dim": 128,
        "half_dim": "head_dim // 2", "qkv_heads": "num_heads + 2 * num_kv_heads",
    },
    inputs={
        "qkv": activation("bfloat16[num_tokens, qkv_heads, head_dim]", draw.normal(std=2.0), EVERY_KIND),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "cos": activation("float32[num_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_dim]", ROPE["sin"]),
        "num_kv_heads": scalar("int32", "num_kv_heads"),
    },
    outputs={
        "query": "bfloat16[num_tokens, num_heads, head_dim]",
        "key": "bfloat16[num_tokens, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 45, 64, 128, 256, 512, 1000, 1024, 2048, 4096, 5000, 8192, 16384)
    ),
    smoke=rows("num_tokens num_heads num_kv_heads", (5, 4, 1), (32, 8, 2)),
)  # fmt: skip

import torch


def run(qkv, query_gain, key_gain, cos, sin, num_kv_heads):
    num_heads = qkv.shape[1] - 2 * num_kv_heads
    query, key = qkv[:, :num_heads], qkv[:, num_heads : num_heads + num_kv_heads]
    return normalised_turned(query, query_gain, cos, sin), normalised_turned(
        key, key_gain, cos, sin
    )


def normalised_turned(values, gain, cos, sin):
    wide = values.to(torch.float32)
    wide = (
        wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * gain.to(torch.float32)
    )
    first, second = wide.chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
