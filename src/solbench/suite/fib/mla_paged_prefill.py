"""Causal multi-head latent attention of fresh tokens over a paged latent cache, in the absorbed form.

Each sequence's last query sees all its cached tokens, each earlier one sees one less.
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

BATCH = draw.prefill_batch(
    sequences="batch_size", new="total_q", total="num_kv_indices", pool="num_pages"
)
PROBLEM = Problem(
    name="mla_paged_prefill_causal_h16_ckv512_kpe64_ps1",
    tier="FIB",
    family="attention",
    models=(
        Model(
            "deepseek-ai/DeepSeek-R1",
            "kv_lora_rank 512, qk_rope_head_dim 64, qk_nope_head_dim 128, num_attention_heads "
            "128",
            read="DeepSeek-V3, its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "batch_size": var, "total_q": var, "num_kv_indices": var, "num_pages": var,
        "num_heads": 16, "latent_dim": 512, "rope_dim": 64, "page_size": 1,
        "len_indptr": "batch_size + 1",
    },
    constraints=("total_q <= num_kv_indices", "num_kv_indices <= num_pages"),
    inputs={
        "q_nope": activation("bfloat16[total_q, num_heads, latent_dim]", draw.normal(), QUERY_KINDS),
        "q_pe": activation("bfloat16[total_q, num_heads, rope_dim]", draw.normal(), QUERY_KINDS),
        "ckv_cache": activation("bfloat16[num_pages, page_size, latent_dim]", draw.normal(), ("sparsity",)),
        "kpe_cache": activation("bfloat16[num_pages, page_size, rope_dim]", draw.normal(), KEY_KINDS),
        "qo_indptr": activation("int32[len_indptr]", BATCH["qo_indptr"]),
        "kv_indptr": activation("int32[len_indptr]", BATCH["kv_indptr"]),
        "kv_indices": activation("int32[num_kv_indices]", BATCH["kv_indices"]),
        "sm_scale": scalar("float32", 192**-0.5),
    },
    outputs={
        "output": "bfloat16[total_q, num_heads, latent_dim]",
        "lse": "float32[total_q, num_heads]",
    },
    workloads=rows(
        "batch_size total_q num_kv_indices num_pages",
        (1, 19, 400, 1024), (1, 128, 128, 512), (1, 512, 4096, 8192), (1, 1024, 1024, 2048),
        (1, 2048, 6000, 8192), (2, 200, 2000, 4096), (2, 2048, 2048, 4096), (3, 3000, 5000, 8192),
        (4, 1024, 16384, 32768), (4, 4096, 4096, 8192), (5, 555, 9999, 12000), (8, 2048, 2048, 4096),
        (8, 8192, 16000, 32768), (16, 1600, 20000, 32768), (16, 8192, 8192, 16384), (32, 4096, 40000, 65536),
    ),
    smoke=rows(
        "batch_size total_q num_kv_indices num_pages num_heads latent_dim rope_dim",
        (3, 20, 60, 64, 16, 128, 64), (2, 40, 40, 50, 4, 512, 64),
    ),
)  # fmt: skip

import torch


def run(q_nope, q_pe, ckv_cache, kpe_cache, qo_indptr, kv_indptr, kv_indices, sm_scale):
    starts, key_starts = qo_indptr.tolist(), kv_indptr.tolist()
    outputs, lses = [], []
    for sequence in range(len(starts) - 1):
        fresh = slice(starts[sequence], starts[sequence + 1])
        pages = kv_indices[key_starts[sequence] : key_starts[sequence + 1]].long()
        latent = ckv_cache[pages].flatten(0, 1).to(torch.float32)  # [tokens, latent_dim]
        rotary = kpe_cache[pages].flatten(0, 1).to(torch.float32)  # [tokens, rope_dim]
        logits = torch.einsum("qhc,kc->hqk", q_nope[fresh].to(torch.float32), latent)
        logits = logits + torch.einsum("qhr,kr->hqk", q_pe[fresh].to(torch.float32), rotary)
        logits = logits * sm_scale
        later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device)
        later = later.triu(logits.shape[-1] - logits.shape[-2] + 1)
        logits = logits.masked_fill(later, float("-inf"))
        weights = torch.softmax(logits, dim=-1)
        weights = weights.to(q_nope.dtype).to(
            torch.float32
        )  # as a kernel's second product takes them
        outputs.append(torch.einsum("hqk,kc->qhc", weights, latent))
        lses.append(torch.logsumexp(logits, dim=-1).T * 1.4426950408889634)  # base 2
    return torch.cat(outputs).to(q_nope.dtype), torch.cat(lses)
