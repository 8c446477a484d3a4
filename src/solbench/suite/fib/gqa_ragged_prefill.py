"""Causal grouped-query attention over sequences packed one after another, without a cache.

Keys may be more than queries (a prefix came along); the last query of a sequence sees all its keys.
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
BATCH = draw.prefill_batch(sequences="batch_size", new="total_q", total="total_kv")
PROBLEMS = [
    Problem(
        name=f"gqa_ragged_prefill_causal_h32_kv{kv_heads}_d128",
        tier="FIB",
        family="attention",
        models=(model,),
        axes={
            "batch_size": var, "total_q": var, "total_kv": var,
            "num_heads": 32, "num_kv_heads": kv_heads, "head_dim": 128,
            "len_indptr": "batch_size + 1",
        },
        constraints=("total_q <= total_kv",),
        inputs={
            "q": activation("bfloat16[total_q, num_heads, head_dim]", draw.normal(), QUERY_KINDS),
            "k": activation("bfloat16[total_kv, num_kv_heads, head_dim]", draw.normal(), KEY_KINDS),
            "v": activation("bfloat16[total_kv, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND),
            "qo_indptr": activation("int32[len_indptr]", BATCH["qo_indptr"]),
            "kv_indptr": activation("int32[len_indptr]", BATCH["kv_indptr"]),
            "sm_scale": scalar("float32", 128**-0.5),
        },
        outputs={
            "output": "bfloat16[total_q, num_heads, head_dim]",
            "lse": "float32[total_q, num_heads]",
        },
        workloads=rows(
            "batch_size total_q total_kv",
            (1, 31, 31), (1, 128, 640), (1, 512, 512), (1, 1000, 3000), (1, 2048, 2048), (1, 4096, 4096),
            (2, 512, 1024), (2, 2222, 2222), (3, 3000, 4500), (4, 4096, 4096), (4, 1024, 8192), (7, 7000, 7000),
            (8, 2048, 8192), (8, 8192, 8192), (16, 8192, 10000), (32, 8192, 8192),
        ),
        smoke=rows(
            "batch_size total_q total_kv num_heads num_kv_heads",
            (3, 24, 40, 8, kv_heads // 4), (2, 60, 60, 8, kv_heads),
        ),
    )
    for kv_heads, model in TABLE
]  # fmt: skip

import torch


def run(q, k, v, qo_indptr, kv_indptr, sm_scale):
    num_heads, head_dim = q.shape[1:]
    num_kv_heads = k.shape[1]
    starts, key_starts = qo_indptr.tolist(), kv_indptr.tolist()
    outputs, lses = [], []
    for sequence in range(len(starts) - 1):
        queries = q[starts[sequence] : starts[sequence + 1]].to(torch.float32)
        keys = k[key_starts[sequence] : key_starts[sequence + 1]].to(torch.float32)
        values = v[key_starts[sequence] : key_starts[sequence + 1]].to(torch.float32)
        queries = queries.view(queries.shape[0], num_kv_heads, -1, head_dim)
        logits = torch.einsum("qhgd,khd->hgqk", queries, keys) * sm_scale
        later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=q.device)
        later = later.triu(keys.shape[0] - queries.shape[0] + 1)
        logits = logits.masked_fill(later, float("-inf"))
        weights = torch.softmax(logits, dim=-1)
        weights = weights.to(q.dtype).to(torch.float32)  # as a kernel's second product takes them
        attended = torch.einsum("hgqk,khd->qhgd", weights, values)
        outputs.append(attended.reshape(-1, num_heads, head_dim))
        lse = torch.logsumexp(logits, dim=-1) * 1.4426950408889634  # base 2
        lses.append(lse.permute(2, 0, 1).reshape(-1, num_heads))
    return torch.cat(outputs).to(q.dtype), torch.cat(lses)
