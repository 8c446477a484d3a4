"""Residual add and RMSNorm in one pass, as a serving engine does between two blocks of a decoder.

Returns the normalised sum and the sum itself, which becomes the next residual.
"""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

TABLE = (
    (2048, 1e-6, Model("Qwen/Qwen3-30B-A3B", "hidden_size 2048, rms_norm_eps 1e-6")),
    (4096, 1e-5, Model("meta-llama/Llama-3.1-8B", "hidden_size 4096, rms_norm_eps 1e-5")),
    (7168, 1e-6, Model("deepseek-ai/DeepSeek-V3", "hidden_size 7168, rms_norm_eps 1e-6")),
)
PROBLEMS = [
    Problem(
        name=f"fused_add_rmsnorm_h{hidden_size}",
        tier="FIB",
        family="norm",
        models=(model,),
        axes={"num_tokens": var, "hidden_size": hidden_size},
        inputs={
            "hidden_states": activation(
                "bfloat16[num_tokens, hidden_size]", draw.residual_stream()
            ),
            "residual": activation(
                "bfloat16[num_tokens, hidden_size]", draw.residual_stream(std=2.0)
            ),
            "weight": weight("bfloat16[hidden_size]", draw.norm_weight()),
            "eps": scalar("float32", eps),
        },
        outputs={
            "output": "bfloat16[num_tokens, hidden_size]",
            "new_residual": "bfloat16[num_tokens, hidden_size]",
        },
        workloads=rows(
            "num_tokens",
            *(1, 2, 7, 16, 33, 64, 128, 257, 512, 1000, 1024, 2048, 4096, 6001, 8192, 16384),
        ),
        smoke=rows("num_tokens hidden_size", (5, 512), (64, 384), (33, 1024)),
    )
    for hidden_size, eps, model in TABLE
]

import torch


def run(hidden_states, residual, weight, eps):
    total = hidden_states.to(torch.float32) + residual.to(torch.float32)
    mean_square = total.pow(2).mean(dim=-1, keepdim=True)
    normalised = total * torch.rsqrt(mean_square + eps)
    output = normalised * weight.to(torch.float32)
    return output.to(hidden_states.dtype), total.to(residual.dtype)
