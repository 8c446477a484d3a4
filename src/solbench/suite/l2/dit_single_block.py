"""Single-stream block of a diffusion transformer: one projection feeds attention and an MLP side by side.

Modulated LayerNorm, joint projection to queries, keys, values and MLP, query and key norm, rotation,
attention, one output projection of both parts, gated residual.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="tokens", pairs="half_dim", latest=1)
PROBLEM = Problem(
    name="dit_single_block_bf16_h3072",
    tier="L2",
    family="diffusion_block",
    models=(
        Model(
            "black-forest-labs/FLUX.1-dev",
            "num_attention_heads 24, attention_head_dim 128, mlp_ratio 4, num_single_layers 38",
            "diffusion", read="black-forest-labs/flux: src/flux/util.py",
        ),
    ),
    axes={
        "batch": var, "tokens": var, "num_heads": 24, "head_dim": 128, "half_dim": "head_dim // 2",
        "hidden": "num_heads * head_dim", "inner": "4 * hidden",
        "wide": "3 * hidden + inner", "joint": "hidden + inner",
    },
    inputs={
        "x": activation("bfloat16[batch, tokens, hidden]", draw.normal(), EVERY_KIND),
        "shift": activation("bfloat16[batch, hidden]", draw.normal(std=0.3)),
        "scale": activation("bfloat16[batch, hidden]", draw.normal(std=0.3)),
        "opening": activation("bfloat16[batch, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[tokens, half_dim]", ROPE["cos"]),
        "sin": activation("float32[tokens, half_dim]", ROPE["sin"]),
        "first": weight("bfloat16[wide, hidden]", draw.weight_matrix()),
        "first_bias": weight("bfloat16[wide]", draw.normal(std=0.2)),
        "query_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "key_gain": weight("bfloat16[head_dim]", draw.norm_weight()),
        "second": weight("bfloat16[hidden, joint]", draw.weight_matrix()),
        "second_bias": weight("bfloat16[hidden]", draw.normal(std=0.2)),
    },
    outputs={"y": "bfloat16[batch, tokens, hidden]"},
    workloads=rows(
        "batch tokens",
        (1, 256), (1, 512), (1, 768), (1, 1024), (1, 1536), (1, 2048), (1, 2816), (1, 4096),
        (1, 4608), (2, 333), (2, 1024), (2, 1536), (3, 777), (4, 512), (4, 1024), (8, 512),
    ),
    smoke=rows("batch tokens num_heads head_dim", (2, 9, 2, 32), (1, 24, 3, 32)),
)  # fmt: skip

import torch
from torch.nn import functional


def run(
    x, shift, scale, opening, cos, sin, first, first_bias, query_gain, key_gain, second, second_bias,
):  # fmt: skip
    hidden, head_dim = x.shape[-1], query_gain.shape[0]
    wide = functional.layer_norm(x.to(torch.float32), (hidden,), eps=1e-6)
    modulated = wide * (1.0 + scale.to(torch.float32)[:, None]) + shift.to(torch.float32)[:, None]
    projected = modulated.to(x.dtype) @ first.T + first_bias
    heads = projected[..., : 3 * hidden].unflatten(-1, (3, -1, head_dim)).to(torch.float32)
    query, key, value = heads.permute(2, 0, 3, 1, 4)  # each [batch, heads, tokens, head_dim]
    query = rotate(rmsnorm(query, query_gain), cos, sin).to(x.dtype).to(torch.float32)
    key = rotate(rmsnorm(key, key_gain), cos, sin).to(x.dtype).to(torch.float32)
    weights = torch.softmax(query @ key.transpose(-1, -2) * head_dim**-0.5, dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    attended = (weights @ value).transpose(1, 2).flatten(2).to(x.dtype)
    inner = functional.gelu(projected[..., 3 * hidden :].to(torch.float32), approximate="tanh").to(
        x.dtype
    )
    result = torch.cat([attended, inner], dim=-1) @ second.T + second_bias
    return x + opening[:, None] * result


def rmsnorm(values, gain):
    scale = torch.rsqrt(values.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    return values * scale * gain.to(torch.float32)


def rotate(values, cos, sin):
    even, odd = values[..., 0::2], values[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)
