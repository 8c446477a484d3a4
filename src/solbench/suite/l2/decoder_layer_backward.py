"""Backward of a whole decoder layer in float32: its input and all nine weights.

Only the input was kept: the layer is computed again up to where each gradient needs it. A key-value head's
gradients are sums over the query heads that share it.
"""

from solbench.suite import EVERY_KIND, Gradient, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="half_dim", base=500000.0, latest=1)
WEIGHTS = (
    "attention_gain", "query_weight", "key_weight", "value_weight", "output_weight",
    "mlp_gain", "gate_weight", "up_weight", "down_weight",
)  # fmt: skip
PROBLEM = Problem(
    name="decoder_layer_backward_fp32_h3072",
    tier="L2",
    family="decoder_layer",
    direction="backward",
    models=(
        Model(
            "meta-llama/Llama-3.2-3B",
            "hidden_size 3072, intermediate_size 8192, 24 heads, 8 key-value heads, head_dim "
            "128, rms_norm_eps 1e-5",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 3072, "inner": 8192, "num_heads": 24, "num_kv_heads": 8,
        "head_dim": 128, "half_dim": "head_dim // 2", "width": "num_heads * head_dim",
        "kv_width": "num_kv_heads * head_dim",
    },
    inputs={
        "grad_y": activation("float32[batch, seq_len, hidden]", draw.normal(std=0.1), EVERY_KIND),
        "x": activation("float32[batch, seq_len, hidden]", draw.normal()),
        "cos": activation("float32[seq_len, half_dim]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_dim]", ROPE["sin"]),
        "attention_gain": weight("float32[hidden]", draw.norm_weight()),
        "query_weight": weight("float32[width, hidden]", draw.weight_matrix()),
        "key_weight": weight("float32[kv_width, hidden]", draw.weight_matrix()),
        "value_weight": weight("float32[kv_width, hidden]", draw.weight_matrix()),
        "output_weight": weight("float32[hidden, width]", draw.weight_matrix()),
        "mlp_gain": weight("float32[hidden]", draw.norm_weight()),
        "gate_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "up_weight": weight("float32[inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("float32[hidden, inner]", draw.weight_matrix()),
    },
    outputs={
        "grad_x": "float32[batch, seq_len, hidden]",
        "grad_attention_gain": "float32[hidden]",
        "grad_query_weight": "float32[width, hidden]",
        "grad_key_weight": "float32[kv_width, hidden]",
        "grad_value_weight": "float32[kv_width, hidden]",
        "grad_output_weight": "float32[hidden, width]",
        "grad_mlp_gain": "float32[hidden]",
        "grad_gate_weight": "float32[inner, hidden]",
        "grad_up_weight": "float32[inner, hidden]",
        "grad_down_weight": "float32[hidden, inner]",
    },
    gradient=Gradient("forward", ("x", "cos", "sin", *WEIGHTS), ("grad_y",), ("x", *WEIGHTS)),
    workloads=rows(
        "batch seq_len",
        (1, 64), (1, 128), (1, 256), (1, 333), (1, 512), (1, 1024), (1, 1500), (1, 2048),
        (2, 128), (2, 512), (2, 777), (2, 1024), (4, 256), (4, 512), (8, 128), (8, 256),
    ),
    smoke=rows(
        "batch seq_len hidden inner num_heads num_kv_heads head_dim",
        (2, 7, 48, 64, 4, 2, 12), (1, 20, 64, 96, 4, 1, 16),
    ),
)  # fmt: skip

import torch
from torch.nn import functional


def forward(
    x, cos, sin, attention_gain, query_weight, key_weight, value_weight, output_weight,
    mlp_gain, gate_weight, up_weight, down_weight,
):  # fmt: skip
    normalised = normalise(x)[0] * attention_gain
    query, key, value = project(normalised, cos, sin, query_weight, key_weight, value_weight)
    x = x + merge(attention_weights(query, key) @ value) @ output_weight.T
    normalised = normalise(x)[0] * mlp_gain
    inner = functional.silu(normalised @ gate_weight.T) * (normalised @ up_weight.T)
    return x + inner @ down_weight.T


def run(
    grad_y, x, cos, sin, attention_gain, query_weight, key_weight, value_weight, output_weight,
    mlp_gain, gate_weight, up_weight, down_weight,
):  # fmt: skip
    unit, rstd = normalise(x)
    normalised = unit * attention_gain
    query, key, value = project(normalised, cos, sin, query_weight, key_weight, value_weight)
    weights = attention_weights(query, key)
    attended = merge(weights @ value)
    middle = x + attended @ output_weight.T
    grad_middle, *of_mlp = mlp_backward(
        grad_y, middle, mlp_gain, gate_weight, up_weight, down_weight
    )

    upstream = split(grad_middle @ output_weight, *query.shape[1:3])
    grad_value = (weights.transpose(-1, -2) @ upstream).sum(dim=2, keepdim=True)
    grad_weights = upstream @ value.transpose(-1, -2)
    along = (grad_weights * weights).sum(dim=-1, keepdim=True)
    grad_logits = weights * (grad_weights - along) * query.shape[-1] ** -0.5
    grad_query = rotate(grad_logits @ key, cos, -sin)
    grad_key = rotate((grad_logits.transpose(-1, -2) @ query).sum(dim=2, keepdim=True), cos, -sin)
    projected = [merge(each) for each in (grad_query, grad_key, grad_value)]
    matrices = (query_weight, key_weight, value_weight)
    grad_normalised = sum(g @ w for g, w in zip(projected, matrices, strict=True))
    grad_x, grad_gain = norm_backward(grad_normalised, unit, rstd, attention_gain)
    of_projections = [outer(each, normalised) for each in projected]
    return grad_middle + grad_x, grad_gain, *of_projections, outer(grad_middle, attended), *of_mlp


def mlp_backward(grad_y, middle, gain, gate_weight, up_weight, down_weight):
    """Gradients of the block's input, the residual included, and of its four parameters."""
    unit, rstd = normalise(middle)
    normalised = unit * gain
    gate, up = normalised @ gate_weight.T, normalised @ up_weight.T
    share = torch.sigmoid(gate)
    grad_inner = grad_y @ down_weight
    grad_gate = grad_inner * up * share * (1.0 + gate * (1.0 - share))
    grad_up = grad_inner * gate * share
    grad_normalised = grad_gate @ gate_weight + grad_up @ up_weight
    grad_middle, grad_gain = norm_backward(grad_normalised, unit, rstd, gain)
    of_matrices = (
        outer(grad_gate, normalised), outer(grad_up, normalised), outer(grad_y, gate * share * up)
    )  # fmt: skip
    return grad_y + grad_middle, grad_gain, *of_matrices


def normalise(x):
    rstd = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return x * rstd, rstd


def norm_backward(upstream, unit, rstd, gain):
    scaled = upstream * gain
    along = (scaled * unit).mean(dim=-1, keepdim=True)
    return (scaled - unit * along) * rstd, (upstream * unit).sum(dim=(0, 1))


def project(normalised, cos, sin, query_weight, key_weight, value_weight):
    """[batch, key-value heads, group, tokens, channels] each; keys and values have a group of one."""
    num_kv_heads = key_weight.shape[0] // (2 * cos.shape[1])
    group = query_weight.shape[0] // key_weight.shape[0]
    query = rotate(split(normalised @ query_weight.T, num_kv_heads, group), cos, sin)
    key = rotate(split(normalised @ key_weight.T, num_kv_heads, 1), cos, sin)
    return query, key, split(normalised @ value_weight.T, num_kv_heads, 1)


def attention_weights(query, key):
    seq_len = query.shape[-2]
    logits = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=query.device).triu(1)
    return torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)


def split(values, num_kv_heads, group):
    return values.unflatten(-1, (num_kv_heads, group, -1)).permute(0, 2, 3, 1, 4)


def merge(heads):
    return heads.permute(0, 3, 1, 2, 4).flatten(2)


def outer(upstream, inputs):
    """Gradient of a matrix, summed over all tokens."""
    return upstream.flatten(0, 1).T @ inputs.flatten(0, 1)


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
