"""Queries of latent attention in block-scaled FP8: down to a latent, RMSNorm, quantisation, up to all heads.

The normalised latent is quantised by groups of 128 channels without being stored in 16 bits.
"""

from solbench.suite import Model, Problem, activation, draw, rows, var, weight

INPUT = draw.fp8_blocks(rows="num_tokens", columns="hidden", block_rows=1)
DOWN = draw.fp8_blocks(rows="latent", columns="hidden", fan_in="hidden")
UP = draw.fp8_blocks(rows="width", columns="latent", fan_in="latent", label="up")
PROBLEM = Problem(
    name="fp8_latent_query_blocks_h7168_c1536_o24576",
    tier="Quant",
    family="projection",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "hidden_size 7168, q_lora_rank 1536, num_attention_heads 128 × (qk_nope_head_dim "
            "128 + qk_rope_head_dim 64), rms_norm_eps 1e-6, weight_block_size 128, 128",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 7168, "latent": 1536, "width": 24576,
        "hidden_blocks": "hidden // 128", "latent_blocks": "latent // 128", "width_blocks": "width // 128",
    },
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scales": activation("float32[num_tokens, hidden_blocks]", INPUT["scales"], ("scale", "outliers")),
        "down": weight("float8_e4m3fn[latent, hidden]", DOWN["values"]),
        "down_scales": weight("float32[latent_blocks, hidden_blocks]", DOWN["scales"]),
        "gain": weight("bfloat16[latent]", draw.norm_weight()),
        "up": weight("float8_e4m3fn[width, latent]", UP["values"]),
        "up_scales": weight("float32[width_blocks, latent_blocks]", UP["scales"]),
    },
    outputs={"query": "bfloat16[num_tokens, width]"},
    workloads=rows(
        "num_tokens", *(1, 2, 8, 16, 27, 64, 128, 256, 400, 512, 1000, 1024, 2048, 3000, 4096, 8192)
    ),
    smoke=rows("num_tokens hidden latent width", (5, 256, 128, 256), (24, 384, 256, 128)),
)  # fmt: skip

import torch


def run(x, x_scales, down, down_scales, gain, up, up_scales):
    latent = (x.to(torch.float32) * x_scales.repeat_interleave(128, dim=1)) @ expanded(
        down, down_scales
    ).T
    rms = torch.rsqrt(latent.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    groups = (latent * rms * gain.to(torch.float32)).unflatten(-1, (-1, 128))
    scales = groups.abs().amax(dim=-1, keepdim=True) / 448.0
    codes = (groups / scales).to(torch.float8_e4m3fn)
    normalised = (codes.to(torch.float32) * scales).flatten(-2)
    return (normalised @ expanded(up, up_scales).T).to(torch.bfloat16)


def expanded(matrix, scales):
    """A weight with the scale of its block of 128 by 128."""
    return matrix.to(torch.float32) * scales.repeat_interleave(128, dim=0).repeat_interleave(
        128, dim=1
    )
