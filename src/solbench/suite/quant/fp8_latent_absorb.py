"""Queries multiplied into the latent space, head by head, with block-scaled FP8 weights.

Each head has its own 128 × 512 matrix: one block high, four blocks wide.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

WEIGHT = draw.fp8_expert_blocks(experts="num_heads", rows="plain", columns="latent")
PROBLEM = Problem(
    name="fp8_latent_absorb_h128_n128_c512",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "deepseek-ai/DeepSeek-R1",
            "num_attention_heads 128, qk_nope_head_dim 128, kv_lora_rank 512, "
            "weight_block_size 128, 128",
            read="DeepSeek-V3, its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_tokens": var, "num_heads": 128, "plain": 128, "latent": 512,
        "plain_blocks": "plain // 128", "latent_blocks": "latent // 128",
    },
    inputs={
        "query": activation("bfloat16[num_tokens, num_heads, plain]", draw.normal(), EVERY_KIND),
        "weight": weight("float8_e4m3fn[num_heads, plain, latent]", WEIGHT["values"]),
        "weight_scales": weight("float32[num_heads, plain_blocks, latent_blocks]", WEIGHT["scales"]),
    },
    outputs={"query_latent": "bfloat16[num_tokens, num_heads, latent]"},
    workloads=rows(
        "num_tokens num_heads",
        (1, 128), (2, 16), (8, 128), (16, 16), (33, 128), (64, 128), (100, 16), (128, 128), (256, 16),
        (256, 128), (512, 128), (777, 16), (1024, 128), (2048, 16), (2048, 128), (4096, 128),
    ),
    smoke=rows("num_tokens num_heads latent", (5, 3, 128), (24, 4, 256)),
)  # fmt: skip

import torch


def run(query, weight, weight_scales):
    scales = weight_scales.repeat_interleave(128, dim=1).repeat_interleave(128, dim=2)
    matrix = weight.to(torch.float32) * scales
    return torch.einsum("thn,hnc->thc", query.to(torch.float32), matrix).to(query.dtype)
