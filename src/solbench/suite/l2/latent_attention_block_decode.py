"""Multi-head latent attention of one decode step, with the up-projections absorbed into query and output.

No key or value is expanded: each query is mapped into the space of the latents, attends to the cached latents
themselves, and its result is mapped to a value afterwards. The fresh latent is written to the cache first.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="batch", pairs="half_rotary")
LENGTHS = draw.ragged_lengths(sequences="batch", total="total_keys", spread=0.2)
PROBLEM = Problem(
    name="latent_attention_block_decode_bf16_h7168",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3.1",
            "hidden_size 7168, 128 heads, q_lora_rank 1536, kv_lora_rank 512, heads of 128 + "
            "64, v 128",
            read="DeepSeek-V3, its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={
        "batch": var, "capacity": var, "total_keys": var, "hidden": 7168, "heads": 128, "query_rank": 1536,
        "rank": 512, "plain": 128, "rotary": 64, "value_dim": 128, "half_rotary": "rotary // 2",
        "stored": "rank + rotary", "query_width": "heads * (plain + rotary)",
        "value_width": "heads * value_dim",
    },
    constraints=("batch <= total_keys", "total_keys <= batch * capacity"),
    inputs={
        "x": activation("bfloat16[batch, hidden]", draw.residual_stream(std=0.2), EVERY_KIND),
        "cache": activation("bfloat16[batch, capacity, stored]", draw.normal(), ("sparsity",)),
        "lengths": activation("int32[batch]", LENGTHS["lengths"]),
        "cos": activation("float32[batch, half_rotary]", ROPE["cos"]),
        "sin": activation("float32[batch, half_rotary]", ROPE["sin"]),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "query_down": weight("bfloat16[query_rank, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[query_rank]", draw.norm_weight()),
        "query_up": weight("bfloat16[query_width, query_rank]", draw.weight_matrix()),
        "latent_down": weight("bfloat16[stored, hidden]", draw.weight_matrix()),
        "latent_gain": weight("bfloat16[rank]", draw.norm_weight()),
        "key_up": weight("bfloat16[heads, plain, rank]", draw.weight_matrix()),
        "value_up": weight("bfloat16[heads, value_dim, rank]", draw.weight_matrix()),
        "output_weight": weight("bfloat16[hidden, value_width]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[batch, hidden]", "stored_token": "bfloat16[batch, stored]"},
    workloads=rows(
        "batch capacity total_keys",
        (1, 1024, 700), (1, 4096, 3000), (1, 16384, 15000), (1, 65536, 50000), (2, 4096, 4000), (3, 1500, 2000),
        (4, 8192, 16000), (8, 4096, 16000), (8, 16384, 60000), (16, 2048, 16000), (16, 8192, 60000),
        (24, 4096, 48000), (32, 1024, 16000), (32, 8192, 120000), (64, 2048, 60000), (128, 4096, 250000),
    ),
    smoke=rows(
        "batch capacity total_keys hidden heads query_rank rank plain rotary value_dim",
        (3, 24, 40, 96, 4, 48, 32, 16, 8, 24), (2, 40, 50, 128, 3, 64, 48, 32, 16, 32),
    ),
)  # fmt: skip

import torch


def run(
    x, cache, lengths, cos, sin, gain, query_down, query_gain, query_up, latent_down, latent_gain,
    key_up, value_up, output_weight,
):  # fmt: skip
    (heads, plain, rank), capacity = key_up.shape, cache.shape[1]
    normalised = rmsnorm(x, gain)
    query = (rmsnorm(normalised @ query_down.T, query_gain) @ query_up.T).unflatten(-1, (heads, -1))
    absorbed = torch.einsum("bhp,hpr->bhr", query[..., :plain], key_up)
    turned = rotate(query[..., plain:], cos[:, None], sin[:, None])
    latent, shared = (normalised @ latent_down.T).tensor_split([rank], dim=-1)
    fresh = torch.cat([rmsnorm(latent, latent_gain), rotate(shared, cos, sin)], dim=-1)
    place = torch.arange(capacity, device=x.device)
    newest = (place == lengths[:, None] - 1)[..., None]
    kept = torch.where(newest, fresh[:, None], cache).to(torch.float32)
    wanted = torch.cat([absorbed, turned], dim=-1).to(torch.float32)
    logits = wanted @ kept.transpose(1, 2) * query.shape[-1] ** -0.5  # [batch, heads, capacity]
    stale = (place >= lengths[:, None])[:, None]
    weights = torch.softmax(logits.masked_fill(stale, float("-inf")), dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    summary = (weights @ kept[..., :rank]).to(x.dtype)
    attended = torch.einsum("bhr,hvr->bhv", summary, value_up).flatten(1)
    return x + attended @ output_weight.T, fresh


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    even, odd = values.to(torch.float32)[..., 0::2], values.to(torch.float32)[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.flatten(-2).to(values.dtype)
