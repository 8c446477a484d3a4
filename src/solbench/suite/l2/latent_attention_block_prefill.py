"""Multi-head latent attention of a prompt: low-rank queries, keys and values from one latent, causal attention.

Each head's key has a part made from the latent and a rotated part that all heads share. The normalised latent
and the rotated key are what the cache keeps, so they are outputs too.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="half_rotary", base=50000.0, latest=1)
PROBLEM = Problem(
    name="latent_attention_block_prefill_bf16_h7168",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "moonshotai/Kimi-K2-Instruct",
            "hidden_size 7168, 64 heads, q_lora_rank 1536, kv_lora_rank 512, heads of 128 + "
            "64, v 128",
            read="ai-dynamo/aiconfigurator: moonshotai--Kimi-K2-Instruct",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 7168, "heads": 64, "query_rank": 1536, "rank": 512,
        "plain": 128, "rotary": 64, "value_dim": 128, "half_rotary": "rotary // 2", "stored": "rank + rotary",
        "query_width": "heads * (plain + rotary)", "up_width": "heads * (plain + value_dim)",
        "value_width": "heads * value_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.residual_stream(std=0.2), EVERY_KIND),
        "cos": activation("float32[seq_len, half_rotary]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_rotary]", ROPE["sin"]),
        "gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "query_down": weight("bfloat16[query_rank, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[query_rank]", draw.norm_weight()),
        "query_up": weight("bfloat16[query_width, query_rank]", draw.weight_matrix()),
        "latent_down": weight("bfloat16[stored, hidden]", draw.weight_matrix()),
        "latent_gain": weight("bfloat16[rank]", draw.norm_weight()),
        "latent_up": weight("bfloat16[up_width, rank]", draw.weight_matrix()),
        "output_weight": weight("bfloat16[hidden, value_width]", draw.weight_matrix()),
        "heads": scalar("int32", "heads"),
    },
    outputs={
        "y": "bfloat16[batch, seq_len, hidden]",
        "latent": "bfloat16[batch, seq_len, rank]",
        "rotary_key": "bfloat16[batch, seq_len, rotary]",
    },
    workloads=rows(
        "batch seq_len",
        (1, 48), (1, 128), (1, 333), (1, 512), (1, 1024), (1, 2048), (1, 3000), (1, 4096),
        (2, 256), (2, 777), (2, 2048), (4, 128), (4, 1024), (8, 256), (8, 512), (16, 128),
    ),
    smoke=rows(
        "batch seq_len hidden heads query_rank rank plain rotary value_dim",
        (2, 9, 96, 4, 48, 32, 16, 8, 24), (1, 40, 128, 3, 64, 48, 32, 16, 32),
    ),
)  # fmt: skip

import torch


def run(
    x, cos, sin, gain, query_down, query_gain, query_up, latent_down, latent_gain, latent_up,
    output_weight, heads,
):  # fmt: skip
    rank, rotary = latent_gain.shape[0], 2 * cos.shape[-1]
    plain = query_up.shape[0] // heads - rotary
    normalised = rmsnorm(x, gain)
    query = rmsnorm(normalised @ query_down.T, query_gain) @ query_up.T
    query = query.unflatten(-1, (heads, -1)).transpose(1, 2)
    query = torch.cat([query[..., :plain], rotate(query[..., plain:], cos, sin)], dim=-1)
    latent, shared = (normalised @ latent_down.T).split([rank, rotary], dim=-1)
    latent, rotary_key = rmsnorm(latent, latent_gain), rotate(shared, cos, sin)
    expanded = (latent @ latent_up.T).unflatten(-1, (heads, -1)).transpose(1, 2)
    key, value = expanded[..., :plain], expanded[..., plain:]
    key = torch.cat([key, rotary_key[:, None].expand(-1, heads, -1, -1)], dim=-1)
    attended = attend(query, key, value).transpose(1, 2).flatten(2)
    return x + attended @ output_weight.T, latent, rotary_key


def attend(query, key, value):
    logits = query.to(torch.float32) @ key.to(torch.float32).transpose(-1, -2)
    seq_len = query.shape[-2]
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    logits = (logits * query.shape[-1] ** -0.5).masked_fill(later, float("-inf"))
    weights = torch.softmax(logits, dim=-1).to(
        query.dtype
    )  # as a kernel's second product takes them
    return (weights.to(torch.float32) @ value.to(torch.float32)).to(query.dtype)


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    even, odd = values.to(torch.float32)[..., 0::2], values.to(torch.float32)[..., 1::2]
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.flatten(-2).to(values.dtype)
