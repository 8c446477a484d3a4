"""A whole decoder layer for prefill: norm, grouped-query attention with rotary embedding, norm, gated MLP.

Products are in bfloat16, norms, rotation, softmax and SiLU in float32, residuals in bfloat16.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

ROPE = draw.rope_table(tokens="seq_len", pairs="half_dim", base=500000.0, latest=1)
PROBLEM = Problem(
    name="decoder_layer_gqa_bf16_h4096",
    tier="L2",
    family="decoder_layer",
    models=(
        Model(
            "meta-llama/Llama-3.1-8B",
            "hidden_size 4096, intermediate_size 14336, 32 heads, 8 key-value heads, head_dim "
            "128",
            read="citsjtu2020/LLM-Prof: sglang/Model_Config.md",
        ),
    ),
    axes={
        "batch": var, "seq_len": var, "hidden": 4096, "inner": 14336, "two_inner": "2 * inner",
        "num_heads": 32, "num_kv_heads": 8, "head_dim": 128, "half_dim": "head_dim // 2",
        "query_width": "num_heads * head_dim", "qkv_width": "(num_heads + 2 * num_kv_heads) * head_dim",
    },
    inputs={
        "x": activation("bfloat16[batch, seq_len, hidden]", draw.normal(), EVERY_KIND),
        "cos": activation("float32[seq_len, half_dim]", ROPE["cos"]),
        "sin": activation("float32[seq_len, half_dim]", ROPE["sin"]),
        "attention_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "qkv_weight": weight("bfloat16[qkv_width, hidden]", draw.weight_matrix()),
        "output_weight": weight("bfloat16[hidden, query_width]", draw.weight_matrix()),
        "mlp_gain": weight("bfloat16[hidden]", draw.norm_weight()),
        "gate_up_weight": weight("bfloat16[two_inner, hidden]", draw.weight_matrix()),
        "down_weight": weight("bfloat16[hidden, inner]", draw.weight_matrix()),
    },
    outputs={"y": "bfloat16[batch, seq_len, hidden]"},
    workloads=rows(
        "batch seq_len",
        (1, 128), (1, 300), (1, 512), (1, 1024), (1, 2048), (1, 4096), (1, 6000), (2, 256),
        (2, 1024), (2, 2048), (4, 128), (4, 777), (4, 1024), (8, 512), (16, 256), (32, 128),
    ),
    smoke=rows("batch seq_len hidden inner num_heads num_kv_heads head_dim", (2, 9, 128, 192, 4, 2, 32)),
)  # fmt: skip

import torch


def run(
    x, cos, sin, attention_gain, qkv_weight, output_weight, mlp_gain, gate_up_weight, down_weight
):
    attended = attention(rmsnorm(x, attention_gain), cos, sin, qkv_weight, output_weight.shape[1])
    x = x + attended @ output_weight.T
    gate, up = (rmsnorm(x, mlp_gain) @ gate_up_weight.T).to(torch.float32).chunk(2, dim=-1)
    return x + (torch.nn.functional.silu(gate) * up).to(x.dtype) @ down_weight.T


def rmsnorm(values, gain):
    wide = values.to(torch.float32)
    scale = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + 1e-5)
    return (wide * scale * gain.to(torch.float32)).to(values.dtype)


def attention(x, cos, sin, qkv_weight, query_width):
    batch, seq_len, _ = x.shape
    head_dim = 2 * cos.shape[1]
    heads = (x @ qkv_weight.T).view(batch, seq_len, -1, head_dim).transpose(1, 2).to(torch.float32)
    num_heads = query_width // head_dim
    num_kv_heads = (heads.shape[1] - num_heads) // 2
    query, key, value = heads.split([num_heads, num_kv_heads, num_kv_heads], dim=1)
    query, key = rotate(query, cos, sin).to(x.dtype), rotate(key, cos, sin).to(x.dtype)
    query, key = query.to(torch.float32), key.to(torch.float32)
    query = query.reshape(batch, num_kv_heads, -1, seq_len, head_dim)
    logits = query @ key[:, :, None].transpose(-1, -2) * head_dim**-0.5
    later = torch.ones(seq_len, seq_len, dtype=torch.bool, device=x.device).triu(1)
    weights = torch.softmax(logits.masked_fill(later, float("-inf")), dim=-1)
    weights = weights.to(x.dtype).to(torch.float32)  # as a kernel's second product takes them
    output = (weights @ value[:, :, None]).reshape(batch, num_heads, seq_len, head_dim)
    return output.transpose(1, 2).flatten(2).to(x.dtype)


def rotate(values, cos, sin):
    first, second = values.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
