"""A whole gated MLP in FP8 with per-tensor scales; the inner values are rounded to FP8 with a known scale."""

from solbench.suite import Model, Problem, activation, draw, rows, scalar, var, weight

INPUT = draw.fp8_tensor(rows="num_tokens", columns="hidden")
FIRST = draw.fp8_tensor(rows="two_inner", columns="hidden", fan_in="hidden")
SECOND = draw.fp8_tensor(rows="hidden", columns="inner", fan_in="inner")
PROBLEM = Problem(
    name="fp8_mlp_tensor_h5120_i14336",
    tier="Quant",
    family="mlp",
    models=(
        Model(
            "neuralmagic/Mistral-Nemo-Instruct-2407-FP8",
            "hidden_size 5120, intermediate_size 14336, per-tensor FP8",
            read="its base model: kevinstephano/thunder_model_blocks: mistral_config.py",
        ),
    ),
    axes={"num_tokens": var, "hidden": 5120, "inner": 14336, "two_inner": "2 * inner"},
    inputs={
        "x": activation("float8_e4m3fn[num_tokens, hidden]", INPUT["values"]),
        "x_scale": activation("float32[]", INPUT["scale"]),
        "gate_up_weight": weight("float8_e4m3fn[two_inner, hidden]", FIRST["values"]),
        "gate_up_scale": weight("float32[]", FIRST["scale"]),
        "down_weight": weight("float8_e4m3fn[hidden, inner]", SECOND["values"]),
        "down_scale": weight("float32[]", SECOND["scale"]),
        "inner_scale": scalar("float32", 0.25),
    },
    fixed_values="the scale of the inner values was calibrated on this distribution",
    outputs={"y": "bfloat16[num_tokens, hidden]"},
    workloads=rows(
        "num_tokens", *(1, 4, 8, 16, 33, 64, 128, 256, 400, 512, 1024, 2048, 2500, 4096, 6000, 8192)
    ),
    smoke=rows("num_tokens hidden inner", (5, 128, 256), (24, 256, 320)),
)  # fmt: skip

import torch


def run(x, x_scale, gate_up_weight, gate_up_scale, down_weight, down_scale, inner_scale):
    gate_up = x.to(torch.float32) @ gate_up_weight.to(torch.float32).T * (x_scale * gate_up_scale)
    gate, up = gate_up.chunk(2, dim=-1)
    inner = torch.nn.functional.silu(gate) * up / inner_scale
    codes = inner.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
    y = codes.to(torch.float32) @ down_weight.to(torch.float32).T * (inner_scale * down_scale)
    return y.to(torch.bfloat16)
