"""RMSNorm over the last axis, computed in float32 and rounded once.

The narrow ones stand inside attention: over a head (Qwen3), over the compressed key-value and query vectors of
latent attention (DeepSeek). There a "row" is a token, or a token's head.
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


def _deepseek_r1(source: str) -> Model:
    return Model("deepseek-ai/DeepSeek-R1", source, read=f"DeepSeek-V3, its base: {_DEEPSEEK_READ}")


TABLE = (
    (128, 1e-6, _qwen("head_dim 128, rms_norm_eps 1e-6 (query and key norm)")),
    (512, 1e-6, _deepseek("kv_lora_rank 512, rms_norm_eps 1e-6")),
    (1536, 1e-6, _deepseek_r1("q_lora_rank 1536, rms_norm_eps 1e-6")),
    (2048, 1e-6, _qwen("hidden_size 2048, rms_norm_eps 1e-6")),
    (4096, 1e-5, _llama("hidden_size 4096, rms_norm_eps 1e-5")),
    (7168, 1e-6, _deepseek("hidden_size 7168, rms_norm_eps 1e-6")),
)
HEADS = 32
"""Rows a token where the norm is over a head."""
TOKENS = (1, 3, 8, 16, 48, 64, 128, 200, 512, 777, 1024, 2048, 4096, 5000, 8192, 16384)
PROBLEMS = [
    Problem(
        name=f"rmsnorm_h{width}",
        tier="FIB",
        family="norm",
        models=(model,),
        axes={"num_rows": var, "width": width},
        inputs={
            "hidden_states": activation(
                "bfloat16[num_rows, width]", draw.residual_stream(), EVERY_KIND
            ),
            "weight": weight("bfloat16[width]", draw.norm_weight()),
            "eps": scalar("float32", eps),
        },
        outputs={"output": "bfloat16[num_rows, width]"},
        workloads=rows("num_rows", *(n * (HEADS if width == 128 else 1) for n in TOKENS)),
        smoke=rows("num_rows width", (7, width), (96, 256)),
    )
    for width, eps, model in TABLE
]

import torch


def run(hidden_states, weight, eps):
    values = hidden_states.to(torch.float32)
    mean_square = values.pow(2).mean(dim=-1, keepdim=True)
    normalised = values * torch.rsqrt(mean_square + eps)
    return (normalised * weight.to(torch.float32)).to(hidden_states.dtype)
