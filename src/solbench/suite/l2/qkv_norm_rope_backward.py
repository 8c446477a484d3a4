"""Backward of everything before attention: projection to heads, norm of each query and key head, rotation.

The projected queries and keys were kept as they were before their norms, with the norms' reciprocal root mean
squares. A gain's gradient is a sum over tokens and heads.
"""

from solbench.suite import (
    EVERY_KIND,
    Gradient,
    Model,
    Problem,
    activation,
    computed,
    draw,
    rows,
    var,
    weight,
)

ROPE = draw.rope_table(tokens="num_tokens", pairs="half_dim", base=1000000.0)
QUERY = computed("kept", "x", "query_weight", "query_gain")
KEY = computed("kept", "x", "key_weight", "key_gain")
WANTED = ("x", "query_weight", "key_weight", "value_weight", "query_gain", "key_gain")
PROBLEM = Problem(
    name="qkv_norm_rope_backward_bf16_h5120",
    tier="L2",
    family="attention_block",
    direction="backward",
    models=(
        Model(
            "Qwen/Qwen3-14B",
            "hidden_size 5120, 40 heads, 8 key-value heads, head_dim 128, rms_norm_eps 1e-6",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 5120, "num_heads": 40, "num_kv_heads": 8, "head_dim": 128,
        "half_dim": "head_dim // 2", "query_width": "num_heads * head_dim",
        "key_width": "num_kv_heads * head_dim",
    },
    inputs={
        "grad_query": activation("bfloat16[num_tokens, num_heads, head_dim]", draw.normal(std=0.1), EVERY_KIND),
        "grad_key": activation(
            "bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(std=0.1), EVERY_KIND
        ),
        "grad_value": activation(
            "bfloat16[num_tokens, num_kv_heads, head_dim]", draw.normal(std=0.1), EVERY_KIND
        ),
        "x": activation("bfloat16[num_tokens, hidden]", draw.normal()),
        "cos": activation("float32[num_tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[num_tokens, half_dim]", ROPE["sin"]),
        "query_weight": weight("bfloat16[query_width, hidden]", draw.weight_matrix()),
        "key_weight": weight("bfloat16[key_width, hidden]", draw.weight_matrix()),
        "value_weight": weight("bfloat16[key_width, hidden]", draw.weight_matrix()),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "query": activation("bfloat16[num_tokens, num_heads, head_dim]", QUERY[0]),
        "query_rstd": activation("float32[num_tokens, num_heads, 1]", QUERY[1]),
        "key": activation("bfloat16[num_tokens, num_kv_heads, head_dim]", KEY[0]),
        "key_rstd": activation("float32[num_tokens, num_kv_heads, 1]", KEY[1]),
    },
    outputs={
        "grad_x": "bfloat16[num_tokens, hidden]",
        "grad_query_weight": "bfloat16[query_width, hidden]",
        "grad_key_weight": "bfloat16[key_width, hidden]",
        "grad_value_weight": "bfloat16[key_width, hidden]",
        "grad_query_gain": "bfloat16[head_dim]",
        "grad_key_gain": "bfloat16[head_dim]",
    },
    gradient=Gradient(
        "forward", (*WANTED, "cos", "sin"), ("grad_query", "grad_key", "grad_value"), WANTED
    ),
    workloads=rows(
        "num_tokens", *(16, 64, 128, 200, 256, 512, 777, 1024, 1500, 2048, 3000, 4096, 5000, 6144, 8192, 16384)
    ),
    smoke=rows(
        "num_tokens hidden num_heads num_kv_heads head_dim", (6, 64, 4, 2, 16), (40, 96, 3, 1, 32)
    ),
)  # fmt: skip

import torch


def kept(x, matrix, gain):
    heads = (x @ matrix.T).unflatten(-1, (-1, gain.shape[0]))
    return heads, torch.rsqrt(heads.to(torch.float32).pow(2).mean(dim=-1, keepdim=True) + 1e-6)


def forward(x, query_weight, key_weight, value_weight, query_gain, key_gain, cos, sin):
    turned = []
    for matrix, gain in ((query_weight, query_gain), (key_weight, key_gain)):
        heads, rstd = kept(x, matrix, gain)
        normalised = (heads.to(torch.float32) * rstd * gain.to(torch.float32)).to(x.dtype)
        turned.append(rotate(normalised, cos, sin).to(x.dtype))
    return *turned, (x @ value_weight.T).unflatten(-1, (-1, query_gain.shape[0]))


def rotate(values, cos, sin):
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def before_norm(gradient, heads, rstd, gain, cos, sin):
    """From the gradient of rotated heads to those of the heads before their norm and of the gain."""
    upstream = rotate(gradient, cos, -sin)  # the transpose of a rotation turns back
    unscaled = heads.to(torch.float32) * rstd
    scaled = upstream * gain.to(torch.float32)
    along = (scaled * unscaled).mean(dim=-1, keepdim=True)
    grad_heads = ((scaled - unscaled * along) * rstd).to(heads.dtype).flatten(1)
    return grad_heads, (upstream * unscaled).sum(dim=(0, 1)).to(gain.dtype)


def run(
    grad_query, grad_key, grad_value, x, cos, sin, query_weight, key_weight, value_weight, query_gain,
    key_gain, query, query_rstd, key, key_rstd,
):  # fmt: skip
    of_query, grad_query_gain = before_norm(grad_query, query, query_rstd, query_gain, cos, sin)
    of_key, grad_key_gain = before_norm(grad_key, key, key_rstd, key_gain, cos, sin)
    of_value = grad_value.flatten(1)
    grad_x = of_query @ query_weight + of_key @ key_weight + of_value @ value_weight
    grad_weights = (of_query.T @ x, of_key.T @ x, of_value.T @ x)
    return grad_x, *grad_weights, grad_query_gain, grad_key_gain
