"""Causal grouped-query attention of fresh tokens over a paged cache that already holds them and a prefix.

The last query of a sequence sees all its keys; each earlier one sees one key less. One token a page.
"""

from solbench.suite import (
    EVERY_KIND,
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

TABLE = (
    (
        4,
        Model(
            "Qwen/Qwen3-30B-A3B",
            "num_attention_heads 32, num_key_value_heads 4, head_dim 128",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    (
        8,
        Model(
            "meta-llama/Llama-3.1-8B",
            "num_attention_heads 32, num_key_value_heads 8, head_dim 128",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
)
BATCH = draw.prefill_batch(
    sequences="batch_size", new="total_q", total="num_kv_indices", pool="num_pages"
)
PROBLEMS = [
    Problem(
        name=f"gqa_paged_prefill_causal_h32_kv{kv_heads}_d128_ps1",
        tier="FIB",
        family="attention",
        models=(model,),
        axes={
            "batch_size": var, "total_q": var, "num_kv_indices": var, "num_pages": var,
            "num_heads": 32, "num_kv_heads": kv_heads, "head_dim": 128, "page_size": 1,
            "len_indptr": "batch_size + 1",
        },
        constraints=("total_q <= num_kv_indices", "num_kv_indices <= num_pages"),
        inputs={
            "q": activation("bfloat16[total_q, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
            "k_cache": activation(
                "bfloat16[num_pages, page_size, num_kv_heads, head_dim]", draw.normal(), KEY_KINDS
            ),
            "v_cache": activation(
                "bfloat16[num_pages, page_size, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND
            ),
            "qo_indptr": activation("int32[len_indptr]", BATCH["qo_indptr"]),
            "kv_indptr": activation("int32[len_indptr]", BATCH["kv_indptr"]),
            "kv_indices": activation("int32[num_kv_indices]", BATCH["kv_indices"]),
            "sm_scale": scalar("float32", 128**-0.5),
        },
        outputs={
            "output": "bfloat16[total_q, num_heads, head_dim]",
            "lse": "float32[total_q, num_heads]",
        },
        workloads=rows(
            "batch_size total_q num_kv_indices num_pages",
            (1, 17, 500, 1024), (1, 128, 128, 512), (1, 512, 2048, 4096), (1, 1024, 1024, 2048),
            (1, 2048, 4096, 8192), (2, 300, 900, 2048), (2, 1500, 3000, 4096), (3, 4096, 6000, 8192),
            (4, 1024, 8192, 16384), (4, 4096, 4096, 8192), (6, 777, 7777, 10000), (8, 2048, 2048, 4096),
            (8, 8192, 12000, 16384), (16, 1000, 16000, 20000), (16, 8192, 8192, 16384),
            (32, 4096, 30000, 40000),
        ),
        smoke=rows(
            "batch_size total_q num_kv_indices num_pages num_heads num_kv_heads",
            (3, 20, 50, 64, 8, kv_heads // 4), (2, 50, 50, 80, 8, kv_heads),
        ),
    )
    for kv_heads, model in TABLE
]  # fmt: skip

import torch


def run(q, k_cache, v_cache, qo_indptr, kv_indptr, kv_indices, sm_scale):
    num_heads, head_dim = q.shape[1:]
    num_kv_heads = k_cache.shape[2]
    starts, key_starts = qo_indptr.tolist(), kv_indptr.tolist()
    outputs, lses = [], []
    for sequence in range(len(starts) - 1):
        fresh = q[starts[sequence] : starts[sequence + 1]].to(torch.float32)
        pages = kv_indices[key_starts[sequence] : key_starts[sequence + 1]].long()
        keys = k_cache[pages].flatten(0, 1).to(torch.float32)  # [tokens, kv_heads, head_dim]
        values = v_cache[pages].flatten(0, 1).to(torch.float32)
        queries = fresh.view(fresh.shape[0], num_kv_heads, -1, head_dim)
        logits = torch.einsum("qhgd,khd->hgqk", queries, keys) * sm_scale
        later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=q.device)
        later = later.triu(keys.shape[0] - fresh.shape[0] + 1)
        logits = logits.masked_fill(later, float("-inf"))
        weights = torch.softmax(logits, dim=-1)
        weights = weights.to(q.dtype).to(torch.float32)  # as a kernel's second product takes them
        attended = torch.einsum("hgqk,khd->qhgd", weights, values)
        outputs.append(attended.reshape(-1, num_heads, head_dim))
        lse = torch.logsumexp(logits, dim=-1) * 1.4426950408889634  # base 2
        lses.append(lse.permute(2, 0, 1).reshape(-1, num_heads))
    return torch.cat(outputs).to(q.dtype), torch.cat(lses)
