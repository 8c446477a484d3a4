"""Gated cross-attention of a language model to image tiles, in float32: norms, grouped attention, tanh gate.

Text that stands before the image does not see it: its rows of the attention are zero. The learnt gate begins
near zero, so that the language model is unchanged when training starts.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

PROBLEM = Problem(
    name="cross_attention_block_gated_fp32_h4096",
    tier="L2",
    family="attention_block",
    models=(
        Model(
            "meta-llama/Llama-3.2-11B-Vision-Instruct",
            "hidden_size 4096, 32 heads, 8 key-value heads, rms_norm_eps 1e-5; tiles of 1601 "
            "tokens",
            "multimodal", read="huggingface/transformers: configuration_mllama.py",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "patches": var, "hidden": 4096, "num_heads": 32, "num_kv_heads": 8,
        "head_dim": 128, "query_width": "num_heads * head_dim", "key_width": "num_kv_heads * head_dim",
    },
    inputs={
        "x": activation("float32[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "image": activation("float32[batch, patches, hidden]", draw.normal(), EVERY_KIND),
        "image_start": activation("int32[batch]", draw.integers(low=0, high="tokens")),
        "gain": weight("float32[hidden]", draw.norm_weight()),
        "query_weight": weight("float32[query_width, hidden]", draw.weight_matrix()),
        "key_weight": weight("float32[key_width, hidden]", draw.weight_matrix()),
        "value_weight": weight("float32[key_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("float32[head_dim]", draw.norm_weight()),
        "key_gain": weight("float32[head_dim]", draw.norm_weight()),
        "output_weight": weight("float32[hidden, query_width]", draw.weight_matrix()),
        "gate": weight("float32[1]", draw.normal(mean=0.7, std=0.1)),
    },
    outputs={"y": "float32[batch, tokens, hidden]"},
    workloads=rows(
        "batch tokens patches",
        (1, 16, 1601), (1, 64, 1601), (1, 128, 6404), (1, 333, 6404), (1, 512, 1601), (1, 1024, 3202),
        (1, 2048, 6404), (2, 32, 1601), (2, 128, 3202), (2, 777, 6404), (3, 100, 4803), (4, 64, 6404),
        (4, 256, 1601), (8, 32, 1601), (8, 128, 3202), (16, 24, 1601),
    ),
    smoke=rows(
        "batch tokens patches hidden num_heads num_kv_heads head_dim",
        (2, 9, 13, 64, 4, 2, 16), (1, 30, 20, 96, 6, 1, 32),
    ),
)  # fmt: skip

import torch


def run(
    x, image, image_start, gain, query_weight, key_weight, value_weight, query_gain, key_gain,
    output_weight, gate,
):  # fmt: skip
    head_dim = query_gain.shape[0]
    query = (rmsnorm(x, gain) @ query_weight.T).unflatten(-1, (-1, head_dim)).transpose(1, 2)
    key = (image @ key_weight.T).unflatten(-1, (-1, head_dim)).transpose(1, 2)
    value = (image @ value_weight.T).unflatten(-1, (-1, head_dim)).transpose(1, 2)
    query, key = rmsnorm(query, query_gain), rmsnorm(key, key_gain)
    grouped = query.unflatten(1, (key.shape[1], -1))  # [batch, kv_heads, group, tokens, head_dim]
    logits = grouped @ key[:, :, None].transpose(-1, -2) * head_dim**-0.5
    attended = torch.softmax(logits, dim=-1) @ value[:, :, None]
    attended = attended.flatten(1, 2).transpose(1, 2).flatten(2)
    sees = torch.arange(x.shape[1], device=x.device) >= image_start[:, None]
    projected = (attended * sees[..., None]) @ output_weight.T
    return x + torch.tanh(gate) * projected


def rmsnorm(values, gain):
    return values * torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-5) * gain
