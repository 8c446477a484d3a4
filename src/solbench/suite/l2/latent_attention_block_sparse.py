"""Sparse latent attention: each query attends to the 2048 cached latents that an indexer chose for it.

Queries are mapped into the space of the latents, the chosen rows are gathered from the cache, and the result is
mapped to values and projected. Nothing of the cache's other rows is needed.
"""

from solbench.suite import (
    EVERY_KIND,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
    weight,
)

CHOICE = draw.routing(tokens="tokens", experts="keys", top_k="top_k")
PROBLEM = Problem(
    name="latent_attention_block_sparse_bf16_h128_k2048",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3.2-Exp",
            "128 heads, kv_lora_rank 512, heads of 128 + 64, v 128, hidden_size 7168, "
            "index_topk 2048",
            read="deepseek-ai/DeepSeek-V3.2-Exp: inference/model.py",
        ),
    ),
    axes={
        "tokens": var, "keys": var, "heads": 128, "rank": 512, "plain": 128, "rotary": 64, "value_dim": 128,
        "hidden": 7168, "top_k": 2048, "query_dim": "plain + rotary", "stored": "rank + rotary",
        "value_width": "heads * value_dim",
    },
    constraints=("top_k <= keys",),
    inputs={
        "x": activation("bfloat16[tokens, hidden]", draw.residual_stream(std=0.2), EVERY_KIND),
        "query": activation("bfloat16[tokens, heads, query_dim]", draw.normal(), QUERY_KINDS),
        "cache": activation("bfloat16[keys, stored]", draw.normal(), ("sparsity",)),
        "chosen": activation("int32[tokens, top_k]", CHOICE["indices"]),
        "key_up": weight("bfloat16[heads, plain, rank]", draw.weight_matrix()),
        "value_up": weight("bfloat16[heads, value_dim, rank]", draw.weight_matrix()),
        "output_weight": weight("bfloat16[hidden, value_width]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[tokens, hidden]"},
    workloads=rows(
        "tokens keys",
        (1, 4096), (1, 16384), (1, 65536), (2, 8192), (4, 16384), (8, 32768), (16, 4096), (16, 65536),
        (32, 16384), (33, 8192), (64, 8192), (64, 32768), (128, 16384), (200, 10000), (256, 8192), (512, 16384),
    ),
    smoke=rows(
        "tokens keys heads rank plain rotary value_dim hidden top_k",
        (5, 40, 4, 32, 16, 8, 24, 96, 12), (9, 64, 3, 48, 32, 16, 32, 128, 32),
    ),
)  # fmt: skip

import torch


def run(x, query, cache, chosen, key_up, value_up, output_weight):
    plain, rank = key_up.shape[1:]
    absorbed = torch.einsum("thp,hpr->thr", query[..., :plain], key_up)
    wanted = torch.cat([absorbed, query[..., plain:]], dim=-1).to(torch.float32)
    kept = cache[chosen.long()].to(torch.float32)  # [tokens, top_k, stored]
    logits = wanted @ kept.transpose(1, 2) * query.shape[-1] ** -0.5
    weights = torch.softmax(logits, dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    summary = (weights @ kept[..., :rank]).to(x.dtype)
    attended = torch.einsum("thr,hvr->thv", summary, value_up).flatten(1)
    return x + attended @ output_weight.T
