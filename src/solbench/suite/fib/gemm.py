"""One linear layer without bias, ``C = A Bᵀ``, at the shapes of routers, projections and MLP halves."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

_READ = "citsjtu2020/LLM-Prof: sglang/Model_Config.md"
_DEEPSEEK_READ = "huggingface/transformers: configuration_deepseek_v3.py"


def _qwen(source: str) -> Model:
    return Model("Qwen/Qwen3-30B-A3B", source, read=_READ)


def _llama(source: str) -> Model:
    return Model("meta-llama/Llama-3.1-8B", source, read=_READ)


def _deepseek(source: str) -> Model:
    return Model("deepseek-ai/DeepSeek-V3", source, read=_DEEPSEEK_READ)


TABLE = (
    (128, 2048, _qwen("router: num_experts 128, hidden_size 2048")),
    (256, 7168, _deepseek("router: n_routed_experts 256, hidden_size 7168")),
    (2048, 4096, _qwen("o_proj: num_attention_heads 32 × head_dim 128, hidden_size 2048")),
    (4096, 4096, _llama("o_proj: num_attention_heads 32 × head_dim 128, hidden_size 4096")),
    (4096, 14336, _llama("down_proj: intermediate_size 14336, hidden_size 4096")),
    (5120, 2048, _qwen("qkv_proj: (32 + 2 × 4) heads × head_dim 128, hidden_size 2048")),
    (6144, 4096, _llama("qkv_proj: (32 + 2 × 8) heads × head_dim 128, hidden_size 4096")),
    (28672, 4096, _llama("gate and up_proj: 2 × intermediate_size 14336, hidden_size 4096")),
)
PROBLEMS = [
    Problem(
        name=f"gemm_n{n}_k{k}",
        tier="FIB",
        family="gemm",
        models=(model,),
        axes={"m": var, "n": n, "k": k},
        inputs={
            "a": activation("float16[m, k]", draw.normal(), EVERY_KIND),
            "b": weight("float16[n, k]", draw.weight_matrix()),
        },
        outputs={"c": "float16[m, n]"},
        workloads=rows(
            "m", *(1, 2, 8, 16, 31, 64, 100, 128, 256, 500, 512, 1024, 2048, 4096, 6000, 8192)
        ),
        smoke=rows("m n k", (3, 128, 512), (65, 96, 768)),
    )
    for n, k, model in TABLE
]

import torch


def run(a, b):
    return torch.matmul(a, b.transpose(0, 1))
