"""Results of experts brought back to tokens: a weighted sum of eight rows, and the shared expert's."""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var

ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PLACES = draw.page_table(sequences=1, used="copies", pool="copies")
PROBLEM = Problem(
    name="moe_combine_bf16_h7168_k8",
    tier="L1",
    family="moe",
    models=(
        Model(
            "deepseek-ai/DeepSeek-V3",
            "hidden_size 7168, num_experts_per_tok 8, n_shared_experts 1",
            read="huggingface/transformers: configuration_deepseek_v3.py",
        ),
        Model(
            "deepseek-ai/DeepSeek-R1",
            "hidden_size 7168, num_experts_per_tok 8, n_shared_experts 1",
            read="DeepSeek-V3, its base model: huggingface/transformers: configuration_deepseek_v3.py",
        ),
    ),
    axes={"num_tokens": var, "hidden": 7168, "experts": 256, "top_k": 8, "copies": "num_tokens * top_k"},
    inputs={
        "expert_rows": activation("bfloat16[copies, hidden]", draw.normal(), EVERY_KIND),
        "places": activation("int32[copies]", PLACES["indices"]),
        "weights": activation("float32[num_tokens, top_k]", ROUTING["weights"]),
        "shared": activation("bfloat16[num_tokens, hidden]", draw.normal(), EVERY_KIND),
    },
    outputs={"output": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 4, 8, 16, 50, 64, 128, 256, 300, 512, 1024, 2048, 3000, 4096, 8192, 16384)
    ),
    smoke=rows("num_tokens hidden experts top_k", (6, 64, 8, 2), (24, 256, 16, 8)),
)  # fmt: skip

import torch


def run(expert_rows, places, weights, shared):
    tokens, top_k = weights.shape
    gathered = expert_rows[places.long()].view(tokens, top_k, -1).to(torch.float32)
    return ((gathered * weights[..., None]).sum(dim=1) + shared.to(torch.float32)).to(shared.dtype)
