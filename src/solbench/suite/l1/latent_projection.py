"""First projection of latent attention: queries and keys go through a narrow, normalised latent each.

One product gives 1536 query channels, 512 key-value channels and 64 rotary ones; the first two are normalised.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="latent_projection_bf16_h7168",
    tier="L1",
    family="projection",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "hidden_size 7168, q_lora_rank 1536, kv_lora_rank 512, qk_rope_head_dim 64, "
            "rms_norm_eps 1e-6",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 7168, "query_rank": 1536, "key_rank": 512, "rope_dim": 64,
        "width": "query_rank + key_rank + rope_dim",
    },
    inputs={
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
        "weight": weight("bfloat16[width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[query_rank]", draw.norm_weight()),
        "key_gain": weight("bfloat16[key_rank]", draw.norm_weight()),
    },
    outputs={
        "query_latent": "bfloat16[num_tokens, query_rank]",
        "key_latent": "bfloat16[num_tokens, key_rank]",
        "key_rope": "bfloat16[num_tokens, rope_dim]",
    },
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 40, 64, 128, 200, 256, 512, 1000, 1024, 2048, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden query_rank key_rank rope_dim", (5, 256, 96, 32, 16), (20, 512, 64, 128, 32)),
)  # fmt: skip

import torch


def run(x, weight, query_gain, key_gain):
    widths = [query_gain.shape[0], key_gain.shape[0]]
    projected = (x @ weight.T).to(torch.float32)
    query, key, rope = projected.split([*widths, projected.shape[-1] - sum(widths)], dim=-1)
    return rmsnorm(query, query_gain), rmsnorm(key, key_gain), rope.to(x.dtype)


def rmsnorm(values, gain):
    scale = torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (values * scale * gain.to(torch.float32)).to(gain.dtype)
