"""Decode step of multi-head latent attention over a paged cache of compressed keys and values.

The queries are already multiplied into the latent space (the "absorbed" form): a key is the 512 latent channels
plus 64 rotary ones that all heads share, and the value is the latent part again. 16 of 128 heads: one of eight
tensor-parallel ranks.
"""

from solbench.suite import (
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    scalar,
    var,
)

PAGES = draw.page_table(sequences="batch_size", used="num_kv_indices", pool="num_pages")
PROBLEM = Problem(
    name="mla_paged_decode_h16_ckv512_kpe64_ps1",
    tier="FIB",
    family="attention",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "kv_lora_rank 512, qk_rope_head_dim 64, qk_nope_head_dim 128, num_attention_heads "
            "128",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "batch_size": var, "num_pages": var, "num_kv_indices": var,
        "num_heads": 16, "latent_dim": 512, "rope_dim": 64, "page_size": 1,
        "len_indptr": "batch_size + 1",
    },
    constraints=("num_kv_indices <= num_pages", "batch_size <= num_kv_indices"),
    inputs={
        "q_nope": activation("bfloat16[batch_size, num_heads, latent_dim]", draw.normal(), QUERY_KINDS),
        "q_pe": activation("bfloat16[batch_size, num_heads, rope_dim]", draw.normal(), QUERY_KINDS),
        "ckv_cache": activation("bfloat16[num_pages, page_size, latent_dim]", draw.normal(), ("sparsity",)),
        "kpe_cache": activation("bfloat16[num_pages, page_size, rope_dim]", draw.normal(), KEY_KINDS),
        "kv_indptr": activation("int32[len_indptr]", PAGES["indptr"]),
        "kv_indices": activation("int32[num_kv_indices]", PAGES["indices"]),
        "sm_scale": scalar("float32", 192**-0.5),
    },
    outputs={
        "output": "bfloat16[batch_size, num_heads, latent_dim]",
        "lse": "float32[batch_size, num_heads]",
    },
    workloads=rows(
        "batch_size num_kv_indices num_pages",
        (1, 100, 1024), (1, 2048, 4096), (1, 16384, 32768), (2, 1000, 4096),
        (3, 9999, 12000), (4, 4096, 8192), (8, 3333, 8192), (8, 32768, 65536),
        (16, 16384, 32768), (16, 100000, 131072), (27, 40000, 65536), (32, 8192, 16384),
        (32, 131072, 200000), (50, 77777, 100000), (64, 65536, 131072), (64, 400000, 524288),
    ),
    smoke=rows(
        "batch_size num_kv_indices num_pages num_heads latent_dim rope_dim",
        (3, 70, 100, 16, 128, 64), (5, 150, 150, 8, 512, 64),
    ),
)  # fmt: skip

import torch


def run(q_nope, q_pe, ckv_cache, kpe_cache, kv_indptr, kv_indices, sm_scale):
    bounds = kv_indptr.tolist()
    outputs, lses = [], []
    for sequence in range(q_nope.shape[0]):
        pages = kv_indices[bounds[sequence] : bounds[sequence + 1]].long()
        latent = ckv_cache[pages].flatten(0, 1).to(torch.float32)  # [tokens, latent_dim]
        rotary = kpe_cache[pages].flatten(0, 1).to(torch.float32)  # [tokens, rope_dim]
        logits = q_nope[sequence].to(torch.float32) @ latent.T
        logits = (logits + q_pe[sequence].to(torch.float32) @ rotary.T) * sm_scale
        weights = torch.softmax(logits, dim=-1)
        weights = weights.to(q_nope.dtype).to(
            torch.float32
        )  # as a kernel's second product takes them
        outputs.append(weights @ latent)
        lses.append(torch.logsumexp(logits, dim=-1) * 1.4426950408889634)  # base 2
    return torch.stack(outputs).to(q_nope.dtype), torch.stack(lses)
