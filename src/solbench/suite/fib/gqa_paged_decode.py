"""Decode step of grouped-query attention over a paged cache: one new token a sequence, one token a page.

Also returns the base-2 logarithm of the sum of exponentials, with which engines merge partial results.
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
PAGES = draw.page_table(sequences="batch_size", used="num_kv_indices", pool="num_pages")
PROBLEMS = [
    Problem(
        name=f"gqa_paged_decode_h32_kv{kv_heads}_d128_ps1",
        tier="FIB",
        family="attention",
        models=(model,),
        axes={
            "batch_size": var, "num_pages": var, "num_kv_indices": var,
            "num_heads": 32, "num_kv_heads": kv_heads, "head_dim": 128, "page_size": 1,
            "len_indptr": "batch_size + 1",
        },
        constraints=("num_kv_indices <= num_pages", "batch_size <= num_kv_indices"),
        inputs={
            "q": activation("bfloat16[batch_size, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
            "k_cache": activation(
                "bfloat16[num_pages, page_size, num_kv_heads, head_dim]", draw.normal(), KEY_KINDS
            ),
            "v_cache": activation(
                "bfloat16[num_pages, page_size, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND
            ),
            "kv_indptr": activation("int32[len_indptr]", PAGES["indptr"]),
            "kv_indices": activation("int32[num_kv_indices]", PAGES["indices"]),
            "sm_scale": scalar("float32", 128**-0.5),
        },
        outputs={
            "output": "bfloat16[batch_size, num_heads, head_dim]",
            "lse": "float32[batch_size, num_heads]",
        },
        workloads=rows(
            "batch_size num_kv_indices num_pages",
            (1, 128, 1024), (1, 1023, 4096), (1, 8192, 16384), (2, 700, 4096),
            (4, 4096, 8192), (5, 12345, 20000), (8, 2048, 8192), (8, 32768, 65536),
            (16, 9000, 16384), (16, 65536, 131072), (23, 30000, 40000), (32, 16384, 32768),
            (32, 131072, 150000), (48, 50000, 65536), (64, 65536, 100000), (64, 262144, 300000),
        ),
        smoke=rows(
            "batch_size num_kv_indices num_pages num_heads num_kv_heads",
            (3, 61, 100, 8, kv_heads // 4), (5, 200, 256, 16, kv_heads),
        ),
    )
    for kv_heads, model in TABLE
]  # fmt: skip

import torch


def run(q, k_cache, v_cache, kv_indptr, kv_indices, sm_scale):
    batch_size, num_heads, head_dim = q.shape
    num_kv_heads = k_cache.shape[2]
    bounds = kv_indptr.tolist()
    outputs, lses = [], []
    for sequence in range(batch_size):
        pages = kv_indices[bounds[sequence] : bounds[sequence + 1]].long()
        keys = k_cache[pages].flatten(0, 1).to(torch.float32)  # [tokens, kv_heads, head_dim]
        values = v_cache[pages].flatten(0, 1).to(torch.float32)
        # Neighbouring query heads share a key-value head.
        queries = q[sequence].to(torch.float32).view(num_kv_heads, -1, head_dim)
        logits = torch.einsum("hgd,thd->hgt", queries, keys) * sm_scale
        weights = torch.softmax(logits, dim=-1)
        weights = weights.to(q.dtype).to(torch.float32)  # as a kernel's second product takes them
        attended = torch.einsum("hgt,thd->hgd", weights, values)
        outputs.append(attended.reshape(num_heads, head_dim))
        lses.append(torch.logsumexp(logits, dim=-1).reshape(num_heads) * 1.4426950408889634)
    return torch.stack(outputs).to(q.dtype), torch.stack(lses)
