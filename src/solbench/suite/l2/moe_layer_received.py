"""Experts on the rows that other ranks sent, already in the order of their experts, in float32.

Each expert works on its ragged group of rows; then every token takes its eight rows from where they lie, and
adds them up by its routing weights.
"""

from solbench.suite import EVERY_KIND, Model, Problem, activation, draw, rows, var, weight

GROUPS = draw.ragged_lengths(sequences="experts", total="copies", least=0, spread=0.7)
ROUTING = draw.routing(tokens="num_tokens", experts="experts", top_k="top_k")
PLACES = draw.page_table(sequences=1, used="copies", pool="copies")
PROBLEM = Problem(
    name="moe_layer_received_fp32_h2048_e128_k8",
    tier="L2",
    family="moe_layer",
    models=(
        Model(
            "Qwen/Qwen3-VL-30B-A3B-Instruct",
            "text_config: hidden_size 2048, moe_intermediate_size 768, num_experts 128, "
            "num_experts_per_tok 8",
            "multimodal",
            read="THUDM/slime: qwen3-vl-30b-a3b.sh; huggingface/transformers: configuration_qwen3_vl_moe.py",
        ),
    ),
    axes={
        "num_tokens": var, "hidden": 2048, "inner": 768, "two_inner": "2 * inner", "experts": 128, "top_k": 8,
        "copies": "num_tokens * top_k",
    },
    inputs={
        "sent": activation("float32[copies, hidden]", draw.normal(), EVERY_KIND),
        "lengths": activation("int32[experts]", GROUPS["lengths"]),
        "places": activation("int32[copies]", PLACES["indices"]),
        "shares": activation("float32[num_tokens, top_k]", ROUTING["weights"]),
        "gate_up": weight("float32[experts, two_inner, hidden]", draw.weight_matrix()),
        "down": weight("float32[experts, hidden, inner]", draw.weight_matrix()),
    },
    outputs={"y": "float32[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(4, 8, 16, 32, 50, 64, 128, 200, 256, 512, 777, 1024, 2048, 3000, 4096, 8192)
    ),
    smoke=rows("num_tokens hidden inner experts top_k", (6, 64, 48, 8, 2), (20, 96, 64, 16, 4)),
)  # fmt: skip

import torch


def run(sent, lengths, places, shares, gate_up, down):
    groups = sent.split(lengths.tolist())
    results = torch.cat([mlp(*each) for each in zip(groups, gate_up, down, strict=True)])
    gathered = results[places.long()].unflatten(0, shares.shape)
    return (gathered * shares[..., None]).sum(dim=1)


def mlp(x, gate_up, down):
    gate, up = (x @ gate_up.T).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up) @ down.T
