"""A decoder layer in float32 that normalises what attention and MLP give, not what they get.

Queries and keys are normalised over all heads together. Attention looks back 4096 tokens.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="half_dim", base=500000.0, latest=1)
PROBLEM = Problem(
    name="decoder_layer_post_norm_fp32_h4096_w4096",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "allenai/Olmo-3-7B-Instruct",
            "hidden_size 4096, intermediate_size 11008, 32 heads, rms_norm_eps 1e-6, "
            "sliding_window 4096",
            read="huggingface/transformers: configuration_olmo3.py",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 4096, "inner": 11008, "two_inner": "2 * inner",
        "three_hidden": "3 * hidden", "half_dim": 64, "window": 4096,
    },
    inputs={
        "x": activation("float32[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[seq_len, half_dim]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_dim]", ROPE["sin"]),
        "qkv_weight": weight("float32[three_hidden, hidden]", draw.weight_matrix()),
        "query_gain": weight("float32[hidden]", draw.norm_weight()),
        "key_gain": weight("float32[hidden]", draw.norm_weight()),
        "output_weight": weight("float32[hidden, hidden]", draw.weight_matrix()),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("float32[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "window": scalar("int32", "window"),
    },
    outputs={"y": "float32[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 333), (1, 512), (1, 1024), (1, 2048), (1, 3000), (1, 4096), (1, 6000),
        (2, 256), (2, 1024), (2, 2048), (4, 128), (4, 777), (8, 512), (16, 256), (32, 128),
    ),
    smoke=rows("batch seq_len hidden inner half_dim window", (2, 11, 64, 96, 8, 4), (1, 24, 96, 128, 12, 16)),
)  # fmt: skip

import torch


def run(
    x, cos, sin, qkv_weight, query_gain, key_gain, output_weight, attention_gain,
    gate_up_weight, down_weight, mlp_gain, window,
):  # fmt: skip
    query, key, value = (x @ qkv_weight.T).chunk(3, dim=-1)
    query, key = rmsnorm(query, query_gain), rmsnorm(key, key_gain)
    query, key, value = (
        each.unflatten(-1, (-1, 2 * cos.shape[1])).transpose(1, 2) for each in (query, key, value)
    )
    attended = attention(rotate(query, cos, sin), rotate(key, cos, sin), value, window)
    x = x + rmsnorm(attended @ output_weight.T, attention_gain)
    gate, up = (x @ gate_up_weight.T).chunk(2, dim=-1)
    return x + rmsnorm((torch.nn.functional.silu(gate) * up) @ down_weight.T, mlp_gain)


def attention(query, key, value, window):
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    place = torch.arange(query.shape[2], device=query.device)
    distance = place[:, None] - place
    hidden = (distance < 0) | (distance >= window)
    weights = torch.softmax(logits.masked_fill(hidden, float("-inf")), dim=-1)
    return (weights @ value).transpose(1, 2).flatten(2)


def rmsnorm(values, gain):
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6) * gain


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
