"""Attention block of a chunk of a prompt behind a cached prefix, keys and values in pages of 16 tokens.

Each sequence adds the same number of tokens; they are rotated, written to the pages that the table names, and
attend to all before them. The written keys and values are returned beside the block's output.
"""

from solbench.suite import (
    EVERY_KIND,
    KEY_KINDS,
    Model,
    Problem,
    activation,
    draw,
    rows,
    var,
    weight,
)

ROPE = draw.rope_table(tokens="fresh_tokens", pairs="half_dim", base=500000.0)
LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", least="fresh", spread=0.1)
PAGES = draw.page_table(sequences="batch", used="used", pool="pool")
PROBLEM = Problem(
    name="attention_block_paged_extend_bf16_h4096",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "meta-llama/Llama-3.1-8B",
            "hidden_size 4096, 32 heads, 8 key-value heads, rope_theta 500000",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "fresh": var, "pages": var, "total_keys": var, "hidden": 4096, "num_heads": 32,
        "num_kv_heads": 8, "head_dim": 128, "page_size": 16, "half_dim": "head_dim // 2",
        "used": "batch * pages", "pool": "used + 64", "fresh_tokens": "batch * fresh",
        "query_width": "num_heads * head_dim", "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    # Lengths differ by a tenth or so: with these, the longest still fits its pages.
    constraints=("4 * total_keys <= 3 * batch * pages * page_size", "batch * fresh <= total_keys"),
    inputs={
        "x": activation("bfloat16[batch, fresh, hidden]", draw.residual_stream(std=0.2), EVERY_KIND),
        "key_pages": activation("bfloat16[pool, page_size, num_kv_heads, head_dim]", draw.normal(), KEY_KINDS),
        "value_pages": activation(
            "bfloat16[pool, page_size, num_kv_heads, head_dim]", draw.normal(), EVERY_KIND
        ),
        "page_table": activation("int32[used]", PAGES["indices"]),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
        "cos": activation("float32[fresh_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[fresh_tokens, half_dim]", ROPE["sin"]),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
    },
    outputs={
        "y": "bfloat16[batch, fresh, hidden]",
        "new_key": "bfloat16[batch, fresh, num_kv_heads, head_dim]",
        "new_value": "bfloat16[batch, fresh, num_kv_heads, head_dim]",
    },
    workloads=rows(
        "batch fresh pages total_keys",
        (1, 16, 64, 600), (1, 128, 64, 700), (1, 512, 128, 1500), (1, 2048, 512, 6000), (1, 333, 1024, 12000),
        (2, 64, 128, 2000), (2, 777, 128, 2400), (3, 100, 200, 4500), (4, 8, 128, 4000), (4, 256, 128, 4400),
        (4, 1024, 256, 8000), (8, 4, 256, 16000), (8, 128, 64, 4400), (16, 32, 128, 16000), (32, 5, 64, 16000),
        (64, 2, 64, 32000),
    ),
    smoke=rows(
        "batch fresh pages total_keys hidden num_heads num_kv_heads head_dim page_size",
        (3, 4, 6, 40, 128, 4, 2, 32, 4), (2, 9, 8, 34, 96, 6, 1, 64, 4),
    ),
)  # fmt: skip

import torch


def run(
    x, key_pages, value_pages, page_table, lengths, cos, sin, gain, qkv_weight, output_weight
):  # fmt: skip
    batch, fresh, _ = x.shape
    _, page_size, num_kv_heads, head_dim = key_pages.shape
    table = page_table.view(batch, -1).long()
    heads = (rmsnorm(x, gain) @ qkv_weight.T).unflatten(-1, (-1, head_dim))
    num_heads = output_weight.shape[1] // head_dim
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=2)
    tables = (batch, fresh, 1, -1)
    query, key = (rotate(each, cos.view(tables), sin.view(tables)) for each in (query, key))

    position = lengths[:, None].long() - fresh + torch.arange(fresh, device=x.device)
    page = table.gather(1, position // page_size)  # [batch, fresh]
    key_pages = key_pages.index_put((page, position % page_size), key)
    value_pages = value_pages.index_put((page, position % page_size), value)
    keys = key_pages[table].flatten(1, 2).to(torch.float32)  # [batch, capacity, kv_heads, head_dim]
    values = value_pages[table].flatten(1, 2).to(torch.float32)

    grouped = query.to(torch.float32).unflatten(2, (num_kv_heads, -1))
    logits = torch.einsum("bfhgd,bkhd->bhgfk", grouped, keys) * head_dim**-0.5
    later = torch.arange(keys.shape[1], device=x.device) > position[..., None]
    weights = torch.softmax(logits.masked_fill(later[:, None, None], float("-inf")), dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = torch.einsum("bhgfk,bkhd->bfhgd", weights, values).flatten(2).to(x.dtype)
    return x + attended @ output_weight.T, key, value.clone()


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
