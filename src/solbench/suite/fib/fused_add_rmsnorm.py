"""Residual add and RMSNorm in one pass, as a serving engine does between two blocks of a decoder.

Returns the normalised sum and the sum itself, which becomes the next residual.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, scalar, var, weight

_READ = "citsjtu2020/LLM-Prof: sglang/Model_Config.md"
_DEEPSEEK_READ = "huggingface/transformers: configuration_deepseek_v3.py"


def _qwen(source: str) -> Model:
    return Model("Qwen/Qwen3-30B-A3B", source, read=_READ)


def _llama(source: str) -> Model:
    return Model("meta-llama/Llama-3.1-8B", source, read=_READ)


def _deepseek(source: str) -> Model:
    return Model("deepseek-ai/DeepSeek-V3", source, read=_DEEPSEEK_READ)


TABLE = (
    (2048, 1e-6, _qwen("hidden_size 2048, rms_norm_eps 1e-6")),
    (4096, 1e-5, _llama("hidden_size 4096, rms_norm_eps 1e-5")),
    (7168, 1e-6, _deepseek("hidden_size 7168, rms_norm_eps 1e-6")),
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
                "bfloat16[num_tokens, hidden_size]", draw.residual_stream(), EVERY_KIND
            ),
            "residual": activation(
                "bfloat16[num_tokens, hidden_size]", draw.residual_stream(std=2.0), EVERY_KIND
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
