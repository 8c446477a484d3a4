"""Cases worked out by a second person, through problem folders only.

Each case is a reference as a user would write it, and what every correct kernel must read, write and multiply.
The arithmetic stands beside the numbers. They do not look at how the analysis is built.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from solbench.bound import Bound, derive_bound
from solbench.spec import load_problem

F32, BF16, I64 = 4, 2, 8


@dataclass(frozen=True)
class Case:
    name: str
    body: str
    inputs: dict[str, tuple[tuple[int, ...] | None, str]]
    outputs: dict[str, tuple[tuple[int, ...], str]]
    read: int
    write: int
    flops: dict[str, int] = field(default_factory=dict)
    prelude: str = ""
    custom: tuple[str, ...] = ()


def _tensor(shape: tuple[int, ...] | None, dtype: str) -> dict[str, object]:
    return {"shape": None if shape is None else [str(size) for size in shape], "dtype": dtype}


def bound_of(case: Case, folder: Path) -> Bound:
    lines = "\n".join(f"    {line}" for line in case.body.strip().splitlines())
    reference = (
        f"import torch\nimport torch.nn.functional as F\n{case.prelude}\n"
        f"def run({', '.join(case.inputs)}):\n{lines}\n"
    )
    definition: dict[str, object] = {
        "name": case.name,
        "axes": {},
        "inputs": {name: _tensor(*spec) for name, spec in case.inputs.items()},
        "outputs": {name: _tensor(*spec) for name, spec in case.outputs.items()},
        "reference": reference,
    }
    if case.custom:
        definition["custom_inputs_entrypoint"] = "make"
    descriptors = {
        name: {"type": "custom" if name in case.custom else "random"} for name in case.inputs
    }
    (folder / "definition.json").write_text(json.dumps(definition))
    workload = {"uuid": "w", "axes": {}, "inputs": descriptors}
    (folder / "workload.jsonl").write_text(json.dumps(workload) + "\n")
    (bound,) = derive_bound(load_problem(folder), "h200")
    return bound


CASES = [
    Case(
        "dead_input", "return x + 1",
        {"x": ((1024,), "float32"), "y": ((4096,), "float32")}, {"o": ((1024,), "float32")},
        read=1024 * F32, write=1024 * F32,
    ),
    Case(
        "dead_compute", "unused = y @ y\nreturn x * 2",
        {"x": ((64,), "float32"), "y": ((64, 64), "float32")}, {"o": ((64,), "float32")},
        read=64 * F32, write=64 * F32,
    ),
    Case(
        "shape_only_use", "return torch.zeros_like(x)",
        {"x": ((256,), "float32")}, {"o": ((256,), "float32")},
        read=0, write=256 * F32,
    ),
    Case(
        "column_slice", "return x[:, :32] * 2",
        {"x": ((64, 128), "float32")}, {"o": ((64, 32), "float32")},
        read=64 * 32 * F32, write=64 * 32 * F32,
    ),
    Case(
        "strided_rows", "return x[::3] + 1",
        {"x": ((100, 8), "float32")}, {"o": ((34, 8), "float32")},
        read=34 * 8 * F32, write=34 * 8 * F32,  # ceil(100 / 3) rows
    ),
    Case(
        "flip_moves_everything", "return x.t().contiguous()",
        {"x": ((64, 32), "float32")}, {"o": ((32, 64), "float32")},
        read=64 * 32 * F32, write=64 * 32 * F32,
    ),
    Case(
        "one_tensor_through_two_views", "return x.reshape(-1)[:64] + x[:, 0]",
        {"x": ((64, 4), "float32")}, {"o": ((64,), "float32")},
        # first 64 elements are rows 0..15 whole; column 0 adds rows 16..63
        read=(64 + 48) * F32, write=64 * F32,
    ),
    Case(
        "expanded_input", "return x.expand(8, 128) * y",
        {"x": ((1, 128), "float32"), "y": ((8, 128), "float32")}, {"o": ((8, 128), "float32")},
        read=(128 + 1024) * F32, write=1024 * F32,
    ),
    Case(
        "rows_of_a_product_thrown_away", "return (x @ w)[:4]",
        {"x": ((64, 32), "float32"), "w": ((32, 16), "float32")}, {"o": ((4, 16), "float32")},
        read=(4 * 32 + 32 * 16) * F32, write=4 * 16 * F32, flops={"fp32": 2 * 4 * 32 * 16},
    ),
    Case(
        "columns_of_a_product_thrown_away", "return (x @ w)[:, 3:7]",
        {"x": ((64, 32), "float32"), "w": ((32, 16), "float32")}, {"o": ((64, 4), "float32")},
        read=(64 * 32 + 32 * 4) * F32, write=64 * 4 * F32, flops={"fp32": 2 * 64 * 32 * 4},
    ),
    Case(
        "logits_of_the_last_token", "return F.linear(h, w)[:, -1]",
        {"h": ((2, 16, 32), "bfloat16"), "w": ((100, 32), "bfloat16")},
        {"o": ((2, 100), "bfloat16")},
        read=(2 * 32 + 100 * 32) * BF16, write=200 * BF16, flops={"bf16": 2 * 2 * 32 * 100},
    ),
    Case(
        "bias_is_read", "return F.linear(x, w, b)",
        {"x": ((8, 32), "float32"), "w": ((16, 32), "float32"), "b": ((16,), "float32")},
        {"o": ((8, 16), "float32")},
        read=(8 * 32 + 16 * 32 + 16) * F32, write=8 * 16 * F32, flops={"fp32": 2 * 8 * 32 * 16},
    ),
    Case(
        "bf16_upcast_stays_bf16", "return x.float() @ w.float()",
        {"x": ((8, 32), "bfloat16"), "w": ((32, 16), "bfloat16")}, {"o": ((8, 16), "float32")},
        read=(8 * 32 + 32 * 16) * BF16, write=8 * 16 * F32, flops={"bf16": 2 * 8 * 32 * 16},
    ),
    Case(
        "wider_operand_decides", "return x.float() @ w",
        {"x": ((8, 32), "bfloat16"), "w": ((32, 16), "float32")}, {"o": ((8, 16), "float32")},
        read=8 * 32 * BF16 + 32 * 16 * F32, write=8 * 16 * F32, flops={"fp32": 2 * 8 * 32 * 16},
    ),
    Case(
        "sum_of_a_product_folds", "return (x @ w).sum()",
        {"x": ((64, 32), "float32"), "w": ((32, 48), "float32")}, {"o": ((), "float32")},
        # (sum over rows of x) . (sum over columns of w): one dot product over 32
        read=(64 * 32 + 32 * 48) * F32, write=F32, flops={"fp32": 2 * 32},
    ),
    Case(
        "chain_in_the_best_order", "return (a @ b) @ v",
        {"a": ((64, 64), "float32"), "b": ((64, 64), "float32"), "v": ((64, 1), "float32")},
        {"o": ((64, 1), "float32")},
        read=(2 * 64 * 64 + 64) * F32, write=64 * F32, flops={"fp32": 2 * 2 * 64 * 64},
    ),
    Case(
        "intermediate_that_is_returned_pins_the_order", "h = a @ b\nreturn h, h @ v",
        {"a": ((64, 64), "float32"), "b": ((64, 64), "float32"), "v": ((64, 1), "float32")},
        {"h": ((64, 64), "float32"), "o": ((64, 1), "float32")},
        read=(2 * 64 * 64 + 64) * F32, write=(64 * 64 + 64) * F32,
        flops={"fp32": 2 * 64**3 + 2 * 64 * 64},
    ),
    Case(
        "three_operand_einsum_in_the_best_order",
        "return torch.einsum('ij,jk,kl->il', a, b, c)",
        {"a": ((4, 64), "float32"), "b": ((64, 64), "float32"), "c": ((64, 64), "float32")},
        {"o": ((4, 64), "float32")},
        read=(4 * 64 + 2 * 64 * 64) * F32, write=4 * 64 * F32, flops={"fp32": 2 * 2 * 4 * 64 * 64},
    ),
    Case(
        "same_product_twice", "return (x @ w) + torch.relu(x @ w)",
        {"x": ((8, 32), "float32"), "w": ((32, 16), "float32")}, {"o": ((8, 16), "float32")},
        read=(8 * 32 + 32 * 16) * F32, write=8 * 16 * F32, flops={"fp32": 2 * 8 * 32 * 16},
    ),
    Case(
        "repeated_batch_is_one_product", "return torch.bmm(x.expand(6, 8, 32), w.expand(6, 32, 16))",
        {"x": ((1, 8, 32), "float32"), "w": ((1, 32, 16), "float32")},
        {"o": ((6, 8, 16), "float32")},
        read=(8 * 32 + 32 * 16) * F32, write=6 * 8 * 16 * F32, flops={"fp32": 2 * 8 * 32 * 16},
    ),
    Case(
        "weight_reused_in_a_loop",
        "for _ in range(4):\n    x = torch.tanh(x @ w)\nreturn x",
        {"x": ((8, 32), "float32"), "w": ((32, 32), "float32")}, {"o": ((8, 32), "float32")},
        read=(8 * 32 + 32 * 32) * F32, write=8 * 32 * F32, flops={"fp32": 4 * 2 * 8 * 32 * 32},
    ),
    Case(
        "outer_product_is_no_contraction", "return a[:, None] * b[None, :]",
        {"a": ((64,), "float32"), "b": ((32,), "float32")}, {"o": ((64, 32), "float32")},
        read=96 * F32, write=64 * 32 * F32,
    ),
    Case(
        "dot_products_written_out", "return (a * b).sum(-1)",
        {"a": ((16, 64), "float32"), "b": ((16, 64), "float32")}, {"o": ((16,), "float32")},
        read=2 * 16 * 64 * F32, write=16 * F32, flops={"fp32": 2 * 16 * 64},
    ),
    Case(
        "grouped_convolution", "return F.conv2d(x, w, groups=4)",
        {"x": ((2, 16, 10, 10), "float32"), "w": ((32, 4, 3, 3), "float32")},
        {"o": ((2, 32, 8, 8), "float32")},
        read=(2 * 16 * 100 + 32 * 4 * 9) * F32, write=2 * 32 * 64 * F32,
        flops={"fp32": 2 * 2 * 32 * 64 * 4 * 9},
    ),
    Case(
        "depthwise_convolution_1d", "return F.conv1d(x, w, groups=8)",
        {"x": ((1, 8, 20), "float32"), "w": ((8, 1, 4), "float32")},
        {"o": ((1, 8, 17), "float32")},
        read=(160 + 32) * F32, write=8 * 17 * F32, flops={"fp32": 2 * 8 * 17 * 4},
    ),
    Case(
        "padding_taps_are_free", "return F.conv1d(x, w, padding=1)",
        {"x": ((1, 4, 10), "float32"), "w": ((5, 4, 3), "float32")},
        {"o": ((1, 5, 10), "float32")},
        # 10 outputs of 3 taps less one at either end
        read=(40 + 60) * F32, write=50 * F32, flops={"fp32": 2 * 5 * 4 * (10 * 3 - 2)},
    ),
    Case(
        "strided_pointwise_convolution_skips_pixels", "return F.conv2d(x, w, stride=2)",
        {"x": ((1, 8, 8, 8), "float32"), "w": ((4, 8, 1, 1), "float32")},
        {"o": ((1, 4, 4, 4), "float32")},
        read=(8 * 16 + 32) * F32, write=4 * 16 * F32, flops={"fp32": 2 * 4 * 16 * 8},
    ),
    Case(
        "causal_attention", "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        dict.fromkeys("qkv", ((2, 4, 64, 32), "bfloat16")),
        {"o": ((2, 4, 64, 32), "bfloat16")},
        read=3 * 2 * 4 * 64 * 32 * BF16, write=2 * 4 * 64 * 32 * BF16,
        flops={"bf16": 2 * 2 * 8 * (64 * 65 // 2) * 32},
    ),
    Case(
        "causal_attention_written_out",
        "s = (q @ k.transpose(-1, -2)) * 0.125\n"
        "m = torch.triu(torch.ones(64, 64, dtype=torch.bool), diagonal=1)\n"
        "return torch.softmax(s.masked_fill(m, float('-inf')), -1) @ v",
        dict.fromkeys("qkv", ((2, 4, 64, 32), "bfloat16")),
        {"o": ((2, 4, 64, 32), "bfloat16")},
        read=3 * 2 * 4 * 64 * 32 * BF16, write=2 * 4 * 64 * 32 * BF16,
        flops={"bf16": 2 * 2 * 8 * (64 * 65 // 2) * 32},
    ),
    Case(
        "full_attention", "return F.scaled_dot_product_attention(q, k, v)",
        {"q": ((1, 2, 8, 16), "float32"), "k": ((1, 2, 24, 16), "float32"),
         "v": ((1, 2, 24, 16), "float32")},
        {"o": ((1, 2, 8, 16), "float32")},
        read=(2 * 8 * 16 + 2 * 2 * 24 * 16) * F32, write=2 * 8 * 16 * F32,
        flops={"fp32": 2 * 2 * 2 * 8 * 24 * 16},
    ),
    Case(
        "grouped_query_attention_reads_each_head_once",
        "k, v = (t.repeat_interleave(4, dim=1) for t in (k, v))\n"
        "return F.scaled_dot_product_attention(q, k, v)",
        {"q": ((1, 8, 16, 16), "bfloat16"), "k": ((1, 2, 16, 16), "bfloat16"),
         "v": ((1, 2, 16, 16), "bfloat16")},
        {"o": ((1, 8, 16, 16), "bfloat16")},
        read=(8 + 2 + 2) * 256 * BF16, write=8 * 256 * BF16,
        flops={"bf16": 2 * 2 * 8 * 16 * 16 * 16},
    ),
    Case(
        "cache_updated_in_a_slice", "cache[:, 5] = new\nreturn cache",
        {"cache": ((4, 64, 16), "bfloat16"), "new": ((4, 16), "bfloat16")},
        {"o": ((4, 64, 16), "bfloat16")},
        read=4 * 16 * BF16, write=4 * 16 * BF16,
    ),
    Case(
        "cache_copied_then_updated", "c = cache.clone()\nc[:, 5] = new\nreturn c",
        {"cache": ((4, 64, 16), "bfloat16"), "new": ((4, 16), "bfloat16")},
        {"o": ((4, 64, 16), "bfloat16")},
        # the overwritten row of the old cache is not needed
        read=(4 * 63 * 16 + 4 * 16) * BF16, write=4 * 64 * 16 * BF16,
    ),
    Case(
        "rows_gathered_by_known_indices", "return table[idx]",
        {"table": ((1000, 32), "bfloat16"), "idx": ((6,), "int64")},
        {"o": ((6, 32), "bfloat16")},
        read=4 * 32 * BF16 + 6 * I64, write=6 * 32 * BF16,  # rows 1, 5, 7, 9
        prelude="def make(a, device):\n    return {'idx': torch.tensor([1, 5, 5, 9, 1, 7], device=device)}",
        custom=("idx",),
    ),
    Case(
        "cast_of_the_whole_table_before_the_gather", "return table.float()[idx]",
        {"table": ((1000, 32), "bfloat16"), "idx": ((6,), "int64")},
        {"o": ((6, 32), "float32")},
        read=4 * 32 * BF16 + 6 * I64, write=6 * 32 * F32,
        prelude="def make(a, device):\n    return {'idx': torch.tensor([1, 5, 5, 9, 1, 7], device=device)}",
        custom=("idx",),
    ),
    Case(
        "product_rows_chosen_by_known_indices", "return (x @ w)[idx]",
        {"x": ((100, 32), "float32"), "w": ((32, 16), "float32"), "idx": ((3,), "int64")},
        {"o": ((3, 16), "float32")},
        read=(2 * 32 + 32 * 16) * F32 + 3 * I64, write=3 * 16 * F32,
        flops={"fp32": 2 * 2 * 32 * 16},  # rows 2 and 8
        prelude="def make(a, device):\n    return {'idx': torch.tensor([2, 8, 2], device=device)}",
        custom=("idx",),
    ),
    Case(
        "unused_index_output", "values, _ = x.max(dim=1)\nreturn values",
        {"x": ((16, 64), "float32")}, {"o": ((16,), "float32")},
        read=16 * 64 * F32, write=16 * F32,
    ),
    Case(
        "index_output_that_is_returned", "values, places = x.max(dim=1)\nreturn values, places",
        {"x": ((16, 64), "float32")}, {"o": ((16,), "float32"), "p": ((16,), "int64")},
        read=16 * 64 * F32, write=16 * (F32 + I64),
    ),
    Case(
        "mask_at_one_byte", "return x + m",
        {"x": ((16, 64), "float32"), "m": ((16, 64), "bool")}, {"o": ((16, 64), "float32")},
        read=16 * 64 * (F32 + 1), write=16 * 64 * F32,
    ),
    Case(
        # every third column, so without any runs: a kernel may still leave out the other two products
        "scattered_mask", "p = torch.softmax((q @ k.mT).masked_fill(~m, -torch.inf), -1)\nreturn p @ v",
        {"q": ((12, 16), "bfloat16"), "k": ((12, 16), "bfloat16"), "v": ((12, 16), "bfloat16"),
         "m": ((12, 12), "bool")},
        {"o": ((12, 16), "bfloat16")},
        read=(12 + 4 + 4) * 16 * BF16 + 12 * 12, write=12 * 16 * BF16,
        flops={"bf16": 2 * 2 * 12 * 4 * 16},
        prelude="def make(a, device):\n    row = torch.arange(12, device=device) % 3 == 0\n"
        "    return {'m': row.expand(12, 12).contiguous()}",
        custom=("m",),
    ),
    Case(
        # the one weight of each query is 1: the output is v, whatever q and k are
        "softmax_over_one_key", "return torch.softmax(q @ k.mT, -1) @ v",
        {"q": ((3, 1, 16), "bfloat16"), "k": ((3, 1, 16), "bfloat16"), "v": ((3, 1, 16), "bfloat16")},
        {"o": ((3, 1, 16), "bfloat16")}, read=3 * 16 * BF16, write=3 * 16 * BF16,
    ),
    Case(
        "attention_over_one_key", "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        {"q": ((1, 3, 1, 16), "bfloat16"), "k": ((1, 3, 1, 16), "bfloat16"),
         "v": ((1, 3, 1, 16), "bfloat16")},
        {"o": ((1, 3, 1, 16), "bfloat16")}, read=3 * 16 * BF16, write=3 * 16 * BF16,
    ),
    Case(
        # 4 significant bits times 4 are 8, as many as bf16 has; the scale varies within the sum
        "eight_bit_value_times_eight_bit_scale", "return ((x.float() * s.float()) @ w.float()).to(w.dtype)",
        {"x": ((8, 32), "float8_e4m3fn"), "s": ((8, 32), "float8_e4m3fn"), "w": ((32, 16), "bfloat16")},
        {"o": ((8, 16), "bfloat16")}, read=2 * 8 * 32 + 32 * 16 * BF16, write=8 * 16 * BF16,
        flops={"bf16": 2 * 8 * 32 * 16},
    ),
    Case(
        "forward_derivative", "return torch.func.jvp(torch.sin, (x,), (y,))[1]",
        {"x": ((64,), "float32"), "y": ((64,), "float32")}, {"o": ((64,), "float32")},
        read=2 * 64 * F32, write=64 * F32,
    ),
    Case(
        # entries (i, j) and (j, i) are one: 12 * 13 / 2 sums of 8 products
        "product_with_its_own_transpose", "return x @ x.T",
        {"x": ((12, 8), "float32")}, {"o": ((12, 12), "float32")},
        read=12 * 8 * F32, write=12 * 12 * F32, flops={"fp32": 12 * 13 * 8},
    ),
    Case(
        "product_with_its_own_transpose_as_einsum", "return torch.einsum('bik,bjk->bij', x, x)",
        {"x": ((3, 12, 8), "float32")}, {"o": ((3, 12, 12), "float32")},
        read=3 * 12 * 8 * F32, write=3 * 12 * 12 * F32, flops={"fp32": 3 * 12 * 13 * 8},
    ),
    Case(
        # not symmetric: the sum runs over the rows of one and the columns of the other
        "square_of_a_matrix", "return x @ x",
        {"x": ((8, 8), "float32")}, {"o": ((8, 8), "float32")},
        read=64 * F32, write=64 * F32, flops={"fp32": 2 * 8 * 8 * 8},
    ),
    Case(
        "scalar_tensor_is_read", "return alpha * x",
        {"x": ((64,), "float32"), "alpha": ((), "float32")}, {"o": ((64,), "float32")},
        read=65 * F32, write=64 * F32,
    ),
    Case(
        "python_scalar_does_not_widen", "return (x * 2.5) @ w",
        {"x": ((8, 32), "bfloat16"), "w": ((32, 16), "bfloat16")}, {"o": ((8, 16), "bfloat16")},
        read=(8 * 32 + 32 * 16) * BF16, write=8 * 16 * BF16, flops={"bf16": 2 * 8 * 32 * 16},
    ),
    Case(
        "lower_triangle_only", "return torch.tril(x)",
        {"x": ((32, 32), "float32")}, {"o": ((32, 32), "float32")},
        read=32 * 33 // 2 * F32, write=32 * 32 * F32,
    ),
    Case(
        "linear_backward",
        "return g @ w, g.t() @ x, g.sum(0)",
        {"g": ((32, 16), "bfloat16"), "x": ((32, 24), "bfloat16"), "w": ((16, 24), "bfloat16")},
        {"dx": ((32, 24), "bfloat16"), "dw": ((16, 24), "bfloat16"), "db": ((16,), "bfloat16")},
        read=(32 * 16 + 32 * 24 + 16 * 24) * BF16, write=(32 * 24 + 16 * 24 + 16) * BF16,
        flops={"bf16": 2 * 2 * 32 * 16 * 24},
    ),
    Case(
        "autograd_inside_the_reference",
        "x = x.detach().requires_grad_()\n"
        "y = torch.tanh(x @ w)\n"
        "return torch.autograd.grad(y, x, g)[0]",
        {"x": ((8, 32), "float32"), "w": ((32, 16), "float32"), "g": ((8, 16), "float32")},
        {"dx": ((8, 32), "float32")},
        read=(8 * 32 + 32 * 16 + 8 * 16) * F32, write=8 * 32 * F32,
        flops={"fp32": 2 * 2 * 8 * 32 * 16},
    ),
    Case(
        "half_of_a_chunk", "a, b = x.chunk(2, dim=-1)\nreturn F.silu(a)",
        {"x": ((16, 64), "bfloat16")}, {"o": ((16, 32), "bfloat16")},
        read=16 * 32 * BF16, write=16 * 32 * BF16,
    ),
    Case(
        "loop_over_known_lengths",
        "out = torch.zeros_like(x)\n"
        "for i in range(lens.shape[0]):\n"
        "    n = int(lens[i].item())\n"
        "    out[i, :n] = x[i, :n] * 2\n"
        "return out",
        {"x": ((3, 16, 8), "float32"), "lens": ((3,), "int64")},
        {"o": ((3, 16, 8), "float32")},
        read=(4 + 9 + 16) * 8 * F32 + 3 * I64, write=3 * 16 * 8 * F32,
        prelude="def make(a, device):\n    return {'lens': torch.tensor([4, 9, 16], device=device)}",
        custom=("lens",),
    ),
    Case(
        "concatenation_reads_each_part_once", "return torch.cat([x, y], dim=1)[:, 2:6]",
        {"x": ((8, 4), "float32"), "y": ((8, 4), "float32")}, {"o": ((8, 4), "float32")},
        read=(8 * 2 + 8 * 2) * F32, write=8 * 4 * F32,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_correct_kernel_moves_and_multiplies_this_much(case: Case, tmp_path: Path) -> None:
    bound = bound_of(case, tmp_path)
    assert bound.error is None
    assert bound.unknown_ops == ()
    assert bound.matrix_flops == case.flops
    assert bound.dram_read_bytes == case.read
    assert bound.dram_write_bytes == case.write
