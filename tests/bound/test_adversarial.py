"""Small programs that once misled a bound, through problem folders; the arithmetic stands beside each.

Inputs are written ``name: dtype sizes…``: f4 float32, f2 float16, b2 bfloat16, e4 float8 E4M3, i8 int64,
i4 int32, bo bool; ``scalar`` is a Python number. Sizes in bytes are spelled out in the expected values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from solbench.bound import derive_bound
from solbench.spec import load_problem

DTYPES = {
    "f8": "float64",
    "f4": "float32",
    "f2": "float16",
    "b2": "bfloat16",
    "e4": "float8_e4m3fn",
    "i8": "int64",
    "i4": "int32",
    "i1": "int8",
    "bo": "bool",
}


@dataclass(frozen=True)
class Case:
    name: str
    body: str
    inputs: str
    outputs: str
    read: int
    write: int
    flops: Mapping[str, int] = field(default_factory=dict)
    make: str = ""
    """Body of the function that makes the custom inputs."""
    custom: tuple[str, ...] = ()
    scalars: Mapping[str, float] = field(default_factory=dict)


def _tensors(text: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for part in text.split(";"):
        name, _, form = part.strip().partition(":")
        dtype, *sizes = form.split()
        shape = None if sizes == ["scalar"] else sizes
        found[name] = {"shape": shape, "dtype": DTYPES[dtype]}
    return found


def _descriptor(case: Case, name: str) -> dict[str, object]:
    if name in case.scalars:
        return {"type": "scalar", "value": case.scalars[name]}
    return {"type": "custom" if name in case.custom else "random"}


def write_problem(case: Case, folder: Path) -> None:
    inputs = _tensors(case.inputs)
    source = "import torch\nimport torch.nn.functional as F\n\n\n"
    if case.make:
        source += f"def make(axes, device):\n    {case.make}\n\n\n"
    source += f"def run({', '.join(inputs)}):\n"
    source += "".join(f"    {line}\n" for line in case.body.splitlines())
    definition = {
        "name": case.name,
        "axes": {},
        "inputs": inputs,
        "outputs": _tensors(case.outputs),
        "reference": source,
        "custom_inputs_entrypoint": "make" if case.make else None,
    }
    workload = {"uuid": "w", "axes": {}, "inputs": {n: _descriptor(case, n) for n in inputs}}
    (folder / "definition.json").write_text(json.dumps(definition))
    (folder / "workload.jsonl").write_text(json.dumps(workload) + "\n")


CASES = [
    Case(
        # pages 3 7 100 5 9 11 900: seven distinct pages of 16 tokens, in K and in V
        "paged_cache_allocation",
        (
            "k = kc[table].reshape(2, 64, 64)\n"
            "v = vc[table].reshape(2, 64, 64)\n"
            "s = (q @ k.mT) * 0.125\n"
            "return torch.softmax(s, -1) @ v"
        ),
        "q: b2 2 8 64; kc: b2 1024 16 64; vc: b2 1024 16 64; table: i8 2 4",
        "o: b2 2 8 64",
        read=2 * 8 * 64 * 2 + 2 * 7 * 16 * 64 * 2 + 8 * 8,
        write=2 * 8 * 64 * 2,
        flops={"bf16": 2 * 2 * 2 * 8 * 64 * 64},
        make="return {'table': torch.tensor([[3, 7, 100, 5], [3, 9, 11, 900]], device=device)}",
        custom=("table",),
    ),
    Case(
        # 50 + 33 tokens; sequence 1 needs three of its four table entries
        "paged_cache_ragged_lengths",
        (
            "out = torch.empty_like(q)\n"
            "for i in range(q.shape[0]):\n"
            "    n = int(lens[i].item())\n"
            "    k = kc[table[i]].reshape(-1, 64)[:n]\n"
            "    v = vc[table[i]].reshape(-1, 64)[:n]\n"
            "    out[i] = torch.softmax((q[i] @ k.T) * 0.125, -1) @ v\n"
            "return out"
        ),
        "q: b2 2 8 64; kc: b2 1024 16 64; vc: b2 1024 16 64; table: i8 2 4; lens: i8 2",
        "o: b2 2 8 64",
        read=2 * 8 * 64 * 2 + 2 * (50 + 33) * 64 * 2 + 7 * 8 + 2 * 8,
        write=2 * 8 * 64 * 2,
        flops={"bf16": 2 * 2 * 8 * (50 + 33) * 64},
        make=(
            "return {'table': torch.tensor([[3, 7, 100, 5], [30, 9, 11, 900]], device=device), "
            "'lens': torch.tensor([50, 33], device=device)}"
        ),
        custom=("table", "lens"),
    ),
    Case(
        # ids {0,1,2,7,49999}
        "embedding_repeated_ids",
        "return F.embedding(ids, w)",
        "w: b2 50000 64; ids: i8 3 4",
        "o: b2 3 4 64",
        read=5 * 64 * 2 + 12 * 8,
        write=12 * 64 * 2,
        make=(
            "return {'ids': torch.tensor([[1, 1, 2, 2], [7, 7, 7, 1], [49999, 0, 0, 2]], "
            "device=device)}"
        ),
        custom=("ids",),
    ),
    Case(
        # the indices depend on floats: all may be equal, so one row is the least
        "embedding_unknown_ids",
        "return w[x.argmax(-1)]",
        "x: f4 8 100; w: f4 100 32",
        "o: f4 8 32",
        read=8 * 100 * 4 + 32 * 4,
        write=8 * 32 * 4,
    ),
    Case(
        # buckets 0..8 of 64
        "relative_bias_buckets",
        (
            "i = torch.arange(x.shape[-1], device=x.device)\n"
            "b = (i[:, None] - i[None, :]).clamp(-4, 4) + 4\n"
            "return x + t[b].permute(2, 0, 1)"
        ),
        "x: f4 8 16 16; t: f4 64 8",
        "o: f4 8 16 16",
        read=(8 * 256 + 9 * 8) * 4,
        write=8 * 256 * 4,
    ),
    Case(
        # slots {0,9,100,4095} at one byte
        "cast_before_gather_transposed",
        "return cache.to(torch.float32).transpose(0, 1)[:, slots]",
        "cache: e4 4096 8 16; slots: i8 5",
        "o: f4 8 5 16",
        read=4 * 8 * 16 * 1 + 5 * 8,
        write=8 * 5 * 16 * 4,
        make="return {'slots': torch.tensor([9, 9, 100, 4095, 0], device=device)}",
        custom=("slots",),
    ),
    Case(
        # 31 old rows and the new one; only the new row is written back
        "cache_slice_then_attend",
        (
            "kc[:, 31] = kn\n"
            "vc[:, 31] = vn\n"
            "k, v = kc[:, :32], vc[:, :32]\n"
            "o = torch.softmax((q @ k.mT) * 0.25, -1) @ v\n"
            "return o, kc, vc"
        ),
        "q: b2 2 4 16; kc: b2 2 512 16; vc: b2 2 512 16; kn: b2 2 16; vn: b2 2 16",
        "o: b2 2 4 16; a: b2 2 512 16; b: b2 2 512 16",
        read=(2 * 4 * 16 + 2 * 2 * 31 * 16 + 2 * 2 * 16) * 2,
        write=(2 * 4 * 16 + 2 * 2 * 16) * 2,
        flops={"bf16": 2 * 2 * 2 * 4 * 32 * 16},
    ),
    Case(
        "cache_index_put",
        ("kc[slots] = new\nreturn kc"),
        "kc: b2 4096 8 16; new: b2 3 8 16; slots: i8 3",
        "o: b2 4096 8 16",
        read=3 * 8 * 16 * 2 + 3 * 8,
        write=3 * 8 * 16 * 2,
        make="return {'slots': torch.tensor([17, 4000, 5], device=device)}",
        custom=("slots",),
    ),
    Case(
        "cache_scatter_pages",
        ("cache[pages, slots] = new.to(cache.dtype)\nreturn cache"),
        "cache: e4 64 16 32; new: b2 4 32; pages: i8 4; slots: i8 4",
        "o: e4 64 16 32",
        read=4 * 32 * 2 + 8 * 8,
        write=4 * 32 * 1,
        make=(
            "return {'pages': torch.tensor([1, 1, 9, 63], device=device), 'slots': "
            "torch.tensor([0, 1, 15, 3], device=device)}"
        ),
        custom=("pages", "slots"),
    ),
    Case(
        # rows 4 and 90 are read and written
        "row_accumulated_in_place",
        ("x.index_add_(0, idx, y)\nreturn x"),
        "x: f4 100 16; y: f4 3 16; idx: i8 3",
        "o: f4 100 16",
        read=2 * 16 * 4 + 3 * 16 * 4 + 3 * 8,
        write=2 * 16 * 4,
        make="return {'idx': torch.tensor([4, 90, 4], device=device)}",
        custom=("idx",),
    ),
    Case(
        # a fresh result: all of x moves
        "copy_accumulated",
        "return x.index_add(0, idx, y)",
        "x: f4 100 16; y: f4 3 16; idx: i8 3",
        "o: f4 100 16",
        read=100 * 16 * 4 + 3 * 16 * 4 + 3 * 8,
        write=100 * 16 * 4,
        make="return {'idx': torch.tensor([4, 90, 4], device=device)}",
        custom=("idx",),
    ),
    Case(
        "every_other_element_zeroed",
        ("x.view(-1)[::2] = 0\nreturn x"),
        "x: f4 64 16",
        "o: f4 64 16",
        read=0,
        write=64 * 8 * 4,
    ),
    Case(
        # the first write is dead, and so is x
        "overwritten_before_use",
        ("out = torch.empty_like(x)\nout[:] = x\nout[:] = y * 2\nreturn out"),
        "x: f4 64 16; y: f4 64 16",
        "o: f4 64 16",
        read=64 * 16 * 4,
        write=64 * 16 * 4,
    ),
    Case(
        # the zeros in the middle are written too
        "assembled_from_parts",
        ("out = torch.zeros(8, 64, device=a.device)\nout[:, :16] = a\nout[:, 48:] = b\nreturn out"),
        "a: f4 8 16; b: f4 8 16",
        "o: f4 8 64",
        read=2 * 8 * 16 * 4,
        write=8 * 64 * 4,
    ),
    Case(
        "last_token_through_mlp",
        ("h = F.silu(F.linear(x, a))\nreturn F.linear(h, b)[:, -1]"),
        "x: b2 4 32 16; a: b2 64 16; b: b2 16 64",
        "o: b2 4 16",
        read=(4 * 16 + 2 * 64 * 16) * 2,
        write=4 * 16 * 2,
        flops={"bf16": 2 * 2 * 4 * 16 * 64},
    ),
    Case(
        "last_query_row",
        ("s = (q @ k.mT) * 0.25\nreturn (torch.softmax(s, -1) @ v)[:, -1]"),
        "q: f4 2 32 16; k: f4 2 32 16; v: f4 2 32 16",
        "o: f4 2 16",
        read=(2 * 16 + 2 * 2 * 32 * 16) * 4,
        write=2 * 16 * 4,
        flops={"fp32": 2 * 2 * 2 * 1 * 32 * 16},
    ),
    Case(
        # rows 0..15 look at keys 0..15
        "first_rows_of_causal_sdpa",
        "return F.scaled_dot_product_attention(q, k, v, is_causal=True)[:, :16]",
        "q: b2 2 64 32; k: b2 2 64 32; v: b2 2 64 32",
        "o: b2 2 16 32",
        read=3 * 2 * 16 * 32 * 2,
        write=2 * 16 * 32 * 2,
        flops={"bf16": 2 * 2 * 2 * (16 * 17 // 2) * 32},
    ),
    Case(
        # the mask is aligned top left: keys 16..39 are never seen
        "causal_cross_lengths",
        "return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        "q: f4 1 2 16 8; k: f4 1 2 40 8; v: f4 1 2 40 8",
        "o: f4 1 2 16 8",
        read=(2 * 16 * 8 + 2 * 2 * 16 * 8) * 4,
        write=2 * 16 * 8 * 4,
        flops={"fp32": 2 * 2 * 2 * (16 * 17 // 2) * 8},
    ),
    Case(
        # row i sees 25 + i keys
        "causal_bottom_right",
        (
            "m = torch.ones(16, 40, dtype=torch.bool, device=q.device).tril(24)\n"
            "return F.scaled_dot_product_attention(q, k, v, attn_mask=m)"
        ),
        "q: f4 1 2 16 8; k: f4 1 2 40 8; v: f4 1 2 40 8",
        "o: f4 1 2 16 8",
        read=(2 * 16 * 8 + 2 * 2 * 40 * 8) * 4,
        write=2 * 16 * 8 * 4,
        flops={"fp32": 2 * 2 * 2 * (16 * 24 + 16 * 17 // 2) * 8},
    ),
    Case(
        # finfo.min underflows to exactly 0 in the softmax
        "causal_by_finfo_min",
        (
            "t = q.shape[-2]\n"
            "m = torch.full((t, t), torch.finfo(q.dtype).min, device=q.device,"
            " dtype=q.dtype).triu(1)\n"
            "return torch.softmax(q @ k.mT * 0.25 + m, -1) @ v"
        ),
        "q: f4 2 32 16; k: f4 2 32 16; v: f4 2 32 16",
        "o: f4 2 32 16",
        read=3 * 2 * 32 * 16 * 4,
        write=2 * 32 * 16 * 4,
        flops={"fp32": 2 * 2 * 2 * (32 * 33 // 2) * 16},
    ),
    Case(
        # a zero mask without softmax
        # a pair costs 16 + 16, a state 16² to put a key into it and 16² to read it, as much as 8 pairs: 24 keys
        # enter, 24 queries read, and two triangles of 8 stay pairs
        "linear_attention_mask",
        "return ((q @ k.mT) * torch.ones(32, 32, device=q.device).tril()) @ v",
        "q: f4 2 32 16; k: f4 2 32 16; v: f4 2 32 16",
        "o: f4 2 32 16",
        read=3 * 2 * 32 * 16 * 4,
        write=2 * 32 * 16 * 4,
        flops={"fp32": 2 * 2 * (2 * 24 * 16 * 16 + 2 * (8 * 9 // 2) * 32)},
    ),
    Case(
        # rows 0..7 see 1..8 keys, the other 56 see 8
        "sliding_window",
        (
            "i = torch.arange(64, device=q.device)\n"
            "d = i[:, None] - i[None, :]\n"
            "s = (q @ k.mT).masked_fill((d < 0) | (d >= 8), float('-inf'))\n"
            "return torch.softmax(s, -1) @ v"
        ),
        "q: b2 1 64 16; k: b2 1 64 16; v: b2 1 64 16",
        "o: b2 1 64 16",
        read=3 * 64 * 16 * 2,
        write=64 * 16 * 2,
        flops={"bf16": 2 * 2 * (8 * 9 // 2 + 56 * 8) * 16},
    ),
    Case(
        "packed_documents",
        (
            "m = doc[:, None] == doc[None, :]\n"
            "s = (q @ k.mT).masked_fill(~m, float('-inf'))\n"
            "return torch.softmax(s, -1) @ v"
        ),
        "q: f4 24 16; k: f4 24 16; v: f4 24 16; doc: i8 24",
        "o: f4 24 16",
        read=3 * 24 * 16 * 4 + 24 * 8,
        write=24 * 16 * 4,
        flops={"fp32": 2 * 2 * (4 * 4 + 12 * 12 + 8 * 8) * 16},
        make="return {'doc': torch.tensor([0] * 4 + [1] * 12 + [2] * 8, device=device)}",
        custom=("doc",),
    ),
    Case(
        "padded_keys",
        (
            "m = torch.arange(k.shape[1], device=k.device)[None] < lens[:, None]\n"
            "s = (q @ k.mT).masked_fill(~m[:, None], float('-inf'))\n"
            "return torch.softmax(s, -1) @ v"
        ),
        "q: f4 2 4 16; k: f4 2 32 16; v: f4 2 32 16; lens: i8 2",
        "o: f4 2 4 16",
        read=(2 * 4 * 16 + 2 * (10 + 20) * 16) * 4 + 2 * 8,
        write=2 * 4 * 16 * 4,
        flops={"fp32": 2 * 2 * 4 * (10 + 20) * 16},
        make="return {'lens': torch.tensor([10, 20], device=device)}",
        custom=("lens",),
    ),
    Case(
        "padded_queries",
        (
            "m = torch.arange(16, device=q.device)[None] < lens[:, None]\n"
            "s = (q @ k.mT).masked_fill(~m[:, None], float('-inf'))\n"
            "o = torch.softmax(s, -1) @ v\n"
            "return o.masked_fill(~m[..., None], 0.0)"
        ),
        "q: f4 2 16 8; k: f4 2 16 8; v: f4 2 16 8; lens: i8 2",
        "o: f4 2 16 8",
        read=3 * (5 + 9) * 8 * 4 + 2 * 8,
        write=2 * 16 * 8 * 4,
        flops={"fp32": 2 * 2 * (5 * 5 + 9 * 9) * 8},
        make="return {'lens': torch.tensor([5, 9], device=device)}",
        custom=("lens",),
    ),
    Case(
        "float_mask_is_an_input",
        "return F.scaled_dot_product_attention(q, k, v, attn_mask=m)",
        "q: f4 1 2 16 8; k: f4 1 2 16 8; v: f4 1 2 16 8; m: f4 16 16",
        "o: f4 1 2 16 8",
        read=(3 * 2 * 16 * 8 + 256) * 4,
        write=2 * 16 * 8 * 4,
        flops={"fp32": 2 * 2 * 2 * 16 * 16 * 8},
    ),
    Case(
        "grouped_functional_3d",
        "return F.conv3d(x, w, groups=8)",
        "x: f4 1 8 6 6 6; w: f4 16 1 3 3 3",
        "o: f4 1 16 4 4 4",
        read=(8 * 216 + 16 * 27) * 4,
        write=16 * 64 * 4,
        flops={"fp32": 2 * 16 * 64 * 27},
    ),
    Case(
        # every input pixel meets 3 output channels of its group through 4 taps
        "grouped_transposed",
        "return F.conv_transpose2d(x, w, groups=4, stride=2)",
        "x: f4 1 8 5 5; w: f4 8 3 2 2",
        "o: f4 1 12 10 10",
        read=(8 * 25 + 8 * 3 * 4) * 4,
        write=12 * 100 * 4,
        flops={"fp32": 2 * 8 * 25 * 3 * 4},
    ),
    Case(
        # the two products that land outside are cropped
        "transposed_conv_crop",
        "return F.conv_transpose1d(x, w, padding=1)",
        "x: f4 1 4 10; w: f4 4 5 3",
        "o: f4 1 5 10",
        read=(40 + 60) * 4,
        write=50 * 4,
        flops={"fp32": 2 * 4 * 5 * (10 * 3 - 2)},
    ),
    Case(
        "dilated_padding",
        "return F.conv1d(x, w, padding=4, dilation=4)",
        "x: f4 1 2 16; w: f4 3 2 3",
        "o: f4 1 3 16",
        read=(32 + 18) * 4,
        write=48 * 4,
        flops={"fp32": 2 * 3 * 2 * (16 + 12 + 12)},
    ),
    Case(
        "strided_padding",
        "return F.conv1d(x, w, padding=1, stride=2)",
        "x: f4 2 2 9; w: f4 3 2 3",
        "o: f4 2 3 5",
        read=(36 + 18) * 4,
        write=30 * 4,
        flops={"fp32": 2 * 2 * 3 * 2 * (15 - 2)},
    ),
    Case(
        # taps factor: (10*3 - 2) along each side
        "conv2d_corner_taps",
        "return F.conv2d(x, w, b, padding=1)",
        "x: f4 1 2 10 10; w: f4 3 2 3 3; b: f4 3",
        "o: f4 1 3 10 10",
        read=(200 + 54 + 3) * 4,
        write=300 * 4,
        flops={"fp32": 2 * 3 * 2 * 28 * 28},
    ),
    Case(
        # two columns of every four
        "stride_skips_columns",
        "return F.conv1d(x, w, stride=4)",
        "x: f4 1 4 32; w: f4 2 4 2",
        "o: f4 1 2 8",
        read=(4 * 8 * 2 + 16) * 4,
        write=16 * 4,
        flops={"fp32": 2 * 2 * 4 * 8 * 2},
    ),
    Case(
        # k belongs to b alone
        "einsum_private_rank_summed_first",
        "return torch.einsum('ij,jk->i', a, b)",
        "a: f4 64 32; b: f4 32 48",
        "o: f4 64",
        read=(64 * 32 + 32 * 48) * 4,
        write=64 * 4,
        flops={"fp32": 2 * 64 * 32},
    ),
    Case(
        # sum times sum
        "einsum_no_shared_rank",
        "return torch.einsum('ij,kl->', a, b)",
        "a: f4 64 32; b: f4 32 48",
        "o: f4",
        read=(64 * 32 + 32 * 48) * 4,
        write=4,
    ),
    Case(
        # layer 1 of five, read once
        "one_layer_of_a_stack_looped",
        ("for _ in range(3):\n    x = torch.relu(x @ w[1])\nreturn x"),
        "x: f4 8 16; w: f4 5 16 16",
        "o: f4 8 16",
        read=(128 + 256) * 4,
        write=128 * 4,
        flops={"fp32": 3 * 2 * 8 * 16 * 16},
    ),
    Case(
        "overlapping_slices",
        "return x[:40] + x[24:64]",
        "x: f4 100 8",
        "o: f4 40 8",
        read=64 * 8 * 4,
        write=40 * 8 * 4,
    ),
    Case(
        # windows at 0, 8 .. 48 cover 0..63
        "overlapping_windows",
        "return x.unfold(0, 16, 8).mean(-1)",
        "x: f4 70",
        "o: f4 7",
        read=64 * 4,
        write=7 * 4,
    ),
    Case(
        # ten windows of four
        "separated_windows",
        "return x.unfold(0, 4, 10).mean(-1)",
        "x: f4 100",
        "o: f4 10",
        read=40 * 4,
        write=40,
    ),
    Case(
        # the result's storage holds 128 elements
        "expanded_output",
        "return (x * 2).expand(8, 128)",
        "x: f4 1 128",
        "o: f4 8 128",
        read=128 * 4,
        write=128 * 4,
    ),
    Case(
        # one storage
        "returned_twice",
        ("y = x * 2\nreturn y, y.t(), y[:4]"),
        "x: f4 64 32",
        "a: f4 64 32; b: f4 32 64; c: f4 4 32",
        read=64 * 32 * 4,
        write=64 * 32 * 4,
    ),
    Case(
        "as_strided_diagonal",
        "return x.as_strided((16,), (17,)) * 2",
        "x: f4 16 16",
        "o: f4 16",
        read=16 * 4,
        write=16 * 4,
    ),
    Case(
        "bool_output_one_byte",
        "return x > y",
        "x: b2 64 32; y: b2 64 32",
        "o: bo 64 32",
        read=2 * 64 * 32 * 2,
        write=64 * 32,
    ),
    Case(
        # the int64 in between need not be stored
        "int32_indices_narrow_output",
        "return x.argmax(-1).to(torch.int32)",
        "x: f2 64 32",
        "o: i4 64",
        read=64 * 32 * 2,
        write=64 * 4,
    ),
    Case(
        "topk_values_only",
        "return torch.topk(x, 4, dim=-1)[0]",
        "x: f4 64 32",
        "o: f4 64 4",
        read=64 * 32 * 4,
        write=64 * 4 * 4,
    ),
    Case(
        "topk_both",
        ("v, i = torch.topk(x, 4, dim=-1)\nreturn v, i"),
        "x: f4 64 32",
        "v: f4 64 4; i: i8 64 4",
        read=64 * 32 * 4,
        write=64 * 4 * (4 + 8),
    ),
    Case(
        "column_sum_of_a_product",
        "return (x @ w).sum(0)",
        "x: f4 64 32; w: f4 32 48",
        "o: f4 48",
        read=(64 * 32 + 32 * 48) * 4,
        write=48 * 4,
        flops={"fp32": 2 * 32 * 48},
    ),
    Case(
        # x . mean of the rows of w, plus the mean of b
        "row_mean_of_a_linear",
        "return F.linear(x, w, b).mean(-1)",
        "x: f4 64 32; w: f4 48 32; b: f4 48",
        "o: f4 64",
        read=(64 * 32 + 48 * 32 + 48) * 4,
        write=64 * 4,
        flops={"fp32": 2 * 64 * 32},
    ),
    Case(
        # window sums of x (additions), then one product per image
        "global_average_of_a_convolution",
        "return F.conv2d(x, w).mean((2, 3))",
        "x: f4 2 4 10 10; w: f4 8 4 3 3",
        "o: f4 2 8",
        read=(800 + 288) * 4,
        write=16 * 4,
        flops={"fp32": 2 * 2 * 8 * 4 * 9},
    ),
    Case(
        "activated_sum_does_not_fold",
        "return torch.relu(x @ w).sum()",
        "x: f4 64 32; w: f4 32 48",
        "o: f4",
        read=(64 * 32 + 32 * 48) * 4,
        write=4,
        flops={"fp32": 2 * 64 * 32 * 48},
    ),
    Case(
        "maximum_does_not_fold",
        "return (x @ w).amax(-1)",
        "x: f4 64 32; w: f4 32 48",
        "o: f4 64",
        read=(64 * 32 + 32 * 48) * 4,
        write=64 * 4,
        flops={"fp32": 2 * 64 * 32 * 48},
    ),
    Case(
        # a 0-D float32 does not promote a bfloat16 tensor
        "left_scalar_keeps_bf16",
        "return (x * s) @ w",
        "x: b2 16 32; s: f4; w: b2 32 24",
        "o: b2 16 24",
        read=(16 * 32 + 32 * 24) * 2 + 4,
        write=384 * 2,
        flops={"bf16": 2 * 16 * 32 * 24},
    ),
    Case(
        # scales are applied after an fp8 product
        "per_tensor_scale_after_cast",
        "return (x.float() * sx) @ (w.float() * sw)",
        "x: e4 16 32; sx: f4; w: e4 32 24; sw: f4",
        "o: f4 16 24",
        read=16 * 32 + 32 * 24 + 8,
        write=384 * 4,
        flops={"fp8": 2 * 16 * 32 * 24},
    ),
    Case(
        "block_scales_128",
        (
            "xs = (x.float().view(4, 2, 128) * sx[..., None]).view(4, 256)\n"
            "ws = (w.float().view(1, 128, 2, 128) * sw[:, None, :, None]).view(128, 256)\n"
            "return xs @ ws.t()"
        ),
        "x: e4 4 256; sx: f4 4 2; w: e4 128 256; sw: f4 1 2",
        "o: f4 4 128",
        read=4 * 256 + 8 * 4 + 128 * 256 + 2 * 4,
        write=512 * 4,
        flops={"fp8": 2 * 4 * 256 * 128},
    ),
    Case(
        "slice_end_is_a_scalar",
        "return cache[:, :n].sum(1)",
        "cache: f4 4 128 8; n: i8 scalar",
        "o: f4 4 8",
        read=4 * 37 * 8 * 4,
        write=32 * 4,
        scalars={"n": 37},
    ),
    Case(
        "alpha_and_beta",
        "return torch.addmm(c, a, b, beta=0.5, alpha=2.0)",
        "c: f4 16 24; a: f4 16 32; b: f4 32 24",
        "o: f4 16 24",
        read=(384 + 512 + 768) * 4,
        write=384 * 4,
        flops={"fp32": 2 * 16 * 32 * 24},
    ),
    Case(
        "beta_zero_ignores_the_bias",
        "return torch.addmm(c, a, b, beta=0)",
        "c: f4 16 24; a: f4 16 32; b: f4 32 24",
        "o: f4 16 24",
        read=(512 + 768) * 4,
        write=384 * 4,
        flops={"fp32": 2 * 16 * 32 * 24},
    ),
    Case(
        "clamp_by_tensors",
        "return torch.clamp(x, min=lo, max=hi)",
        "x: f4 64 32; lo: f4 32; hi: f4 64 1",
        "o: f4 64 32",
        read=(2048 + 32 + 64) * 4,
        write=2048 * 4,
    ),
    Case(
        "running_statistics_are_read",
        "return F.batch_norm(x, m, v, w, b)",
        "x: f4 4 8 16; m: f4 8; v: f4 8; w: f4 8; b: f4 8",
        "o: f4 4 8 16",
        read=(512 + 32) * 4,
        write=512 * 4,
    ),
    Case(
        # all logits (the normaliser), weights of classes 0, 1, 2
        "class_weights_of_a_loss",
        "return F.cross_entropy(x, t, weight=w)",
        "x: f4 16 10; w: f4 10; t: i8 16",
        "o: f4",
        read=(160 + 3) * 4 + 16 * 8,
        write=4,
        make="return {'t': torch.tensor([0, 1, 2, 0] * 4, device=device)}",
        custom=("t",),
    ),
    Case(
        # whole rows for the mean, four weights and biases
        "layer_norm_slice_needs_whole_rows",
        "return F.layer_norm(x, (64,), w, b)[:, :4]",
        "x: f4 16 64; w: f4 64; b: f4 64",
        "o: f4 16 4",
        read=(1024 + 8) * 4,
        write=64 * 4,
    ),
    Case(
        "cumsum_prefix",
        "return torch.cumsum(x, 1)[:, :8]",
        "x: f4 16 64",
        "o: f4 16 8",
        read=16 * 8 * 4,
        write=128 * 4,
    ),
    Case(
        "cumsum_last",
        "return torch.cumsum(x, 1)[:, -1]",
        "x: f4 16 64",
        "o: f4 16",
        read=1024 * 4,
        write=16 * 4,
    ),
    Case(
        # the operands hold fp16 values exactly
        "half_round_trip",
        "return x.half().float() @ w.half().float()",
        "x: f4 16 32; w: f4 32 24",
        "o: f4 16 24",
        read=(512 + 768) * 4,
        write=384 * 4,
        flops={"fp16": 2 * 16 * 32 * 24},
    ),
    Case(
        # scores from bf16 operands; the probabilities stay fp32
        "float_probabilities",
        ("p = torch.softmax(q.float() @ k.float().mT, -1)\nreturn p @ v.float()"),
        "q: b2 2 16 8; k: b2 2 16 8; v: b2 2 16 8",
        "o: f4 2 16 8",
        read=3 * 256 * 2,
        write=256 * 4,
        flops={"bf16": 2 * 2 * 16 * 16 * 8, "fp32": 2 * 2 * 16 * 16 * 8},
    ),
    Case(
        "consumed_and_returned",
        ("c = torch.cumsum(x, 1)\nreturn c, c.exp().sum(1)"),
        "x: f4 16 64",
        "c: f4 16 64; s: f4 16",
        read=1024 * 4,
        write=(1024 + 16) * 4,
    ),
    Case(
        "permuted_copy",
        "return x.permute(0, 2, 1, 3).reshape(4, 8, -1)",
        "x: f4 4 6 8 5",
        "o: f4 4 8 30",
        read=960 * 4,
        write=960 * 4,
    ),
    Case(
        "stacked",
        "return torch.stack([x, y, x])",
        "x: f4 16 16; y: f4 16 16",
        "o: f4 3 16 16",
        read=512 * 4,
        write=768 * 4,
    ),
    Case(
        "lstm_three_layers",
        (
            "ws = [a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2]\n"
            "return torch.lstm(x, (h, c), ws, True, 3, 0.0, False, False, False)[0]"
        ),
        (
            "x: f4 5 2 8; h: f4 3 2 16; c: f4 3 2 16; a0: f4 64 8; b0: f4 64 16; c0: f4 64; d0: "
            "f4 64; a1: f4 64 16; b1: f4 64 16; c1: f4 64; d1: f4 64; a2: f4 64 16; b2: f4 64 16;"
            " c2: f4 64; d2: f4 64"
        ),
        "o: f4 5 2 16",
        read=(5 * 2 * 8 + 2 * 3 * 2 * 16 + 64 * (8 + 16 + 2) + 2 * 64 * (16 + 16 + 2)) * 4,
        write=160 * 4,
        flops={"fp32": 2 * 5 * 2 * 64 * (8 + 16) + 2 * 2 * 5 * 2 * 64 * (16 + 16)},
    ),
    Case(
        # the first h is zero
        "rnn_first_step_from_zero",
        (
            "h = torch.zeros(4, 16, device=x.device)\n"
            "for t in range(x.shape[0]):\n"
            "    h = torch.tanh(x[t] @ w + h @ u)\n"
            "return h"
        ),
        "x: f4 6 4 8; w: f4 8 16; u: f4 16 16",
        "o: f4 4 16",
        read=(192 + 128 + 256) * 4,
        write=64 * 4,
        flops={"fp32": 2 * 6 * 4 * 8 * 16 + 2 * 5 * 4 * 16 * 16},
    ),
    Case(
        # two thirds of the projection
        "qkv_two_of_three",
        ("q, k, v = F.linear(x, w, b).view(2, 8, 3, 16).unbind(2)\nreturn torch.sigmoid(k), v * 2"),
        "x: b2 2 8 32; w: b2 48 32; b: b2 48",
        "k: b2 2 8 16; v: b2 2 8 16",
        read=(512 + 32 * 32 + 32) * 2,
        write=2 * 256 * 2,
        flops={"bf16": 2 * 16 * 32 * 32},
    ),
    Case(
        # rows 0..3 of x, filters 1 and 2
        "conv_output_window",
        "return F.conv2d(x, w)[:, 1:3, :2, :]",
        "x: f4 1 3 12 12; w: f4 8 3 3 3",
        "o: f4 1 2 2 10",
        read=(3 * 4 * 12 + 2 * 27) * 4,
        write=40 * 4,
        flops={"fp32": 2 * 2 * 20 * 27},
    ),
    Case(
        # two rows and two columns of every four
        "pool_with_gaps",
        "return F.max_pool2d(x, 2, stride=4)",
        "x: f4 1 2 16 16",
        "o: f4 1 2 4 4",
        read=2 * 8 * 8 * 4,
        write=32 * 4,
    ),
    Case(
        # b picks a[1] twice: one entry of a, one row of w
        "gather_of_a_gather",
        "return w[a][b]",
        "w: f4 100 8; a: i8 4; b: i8 2",
        "o: f4 2 8",
        read=8 * 4 + 1 * 8 + 2 * 8,
        write=16 * 4,
        make=(
            "return {'a': torch.tensor([4, 50, 6, 7], device=device), 'b': torch.tensor([1, 1], "
            "device=device)}"
        ),
        custom=("a", "b"),
    ),
    Case(
        # (1,5) (2,5) (3,6)
        "advanced_pairs",
        "return x[r, c]",
        "x: f4 64 64; r: i8 4; c: i8 4",
        "o: f4 4",
        read=3 * 4 + 8 * 8,
        write=4 * 4,
        make=(
            "return {'r': torch.tensor([1, 2, 1, 3], device=device), 'c': torch.tensor([5, 5, 5, "
            "6], device=device)}"
        ),
        custom=("r", "c"),
    ),
    Case(
        "where_interleaves_two",
        ("i = torch.arange(x.shape[1], device=x.device)\nreturn torch.where(i % 4 == 0, x, y)"),
        "x: f4 8 16; y: f4 8 16",
        "o: f4 8 16",
        read=(8 * 4 + 8 * 12) * 4,
        write=128 * 4,
    ),
    Case(
        "padded_rows_zeroed",
        (
            "m = torch.arange(16, device=x.device)[None] < lens[:, None]\n"
            "return torch.where(m[..., None], F.linear(x, w), 0.0)"
        ),
        "x: f4 2 16 8; w: f4 4 8; lens: i8 2",
        "o: f4 2 16 4",
        read=((3 + 7) * 8 + 32) * 4 + 16,
        write=128 * 4,
        flops={"fp32": 2 * 10 * 8 * 4},
        make="return {'lens': torch.tensor([3, 7], device=device)}",
        custom=("lens",),
    ),
    Case(
        "diagonal_of_a_product",
        "return torch.diagonal(a @ b)",
        "a: f4 32 16; b: f4 16 32",
        "o: f4 32",
        read=2 * 512 * 4,
        write=32 * 4,
        flops={"fp32": 2 * 32 * 16},
    ),
    Case(
        "lower_half_of_a_product",
        "return torch.tril(a @ b)",
        "a: f4 32 16; b: f4 16 32",
        "o: f4 32 32",
        read=2 * 512 * 4,
        write=1024 * 4,
        flops={"fp32": 2 * (32 * 33 // 2) * 16},
    ),
    Case(
        "chosen_entries_of_a_product",
        "return (a @ b)[[0, 5, 7], [3, 3, 9]]",
        "a: f4 32 16; b: f4 16 32",
        "o: f4 3",
        read=(3 * 16 + 2 * 16) * 4,
        write=3 * 4,
        flops={"fp32": 2 * 3 * 16},
    ),
    Case(
        # QK', gV', P'g, dS.K, dS'.Q over the lower triangle; the forward output itself is not needed (its r
        "attention_gradient",
        (
            "q, k, v = (t.detach().requires_grad_() for t in (q, k, v))\n"
            "o = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
            "return torch.autograd.grad(o, (q, k, v), g)"
        ),
        "q: b2 1 2 32 16; k: b2 1 2 32 16; v: b2 1 2 32 16; g: b2 1 2 32 16",
        "dq: b2 1 2 32 16; dk: b2 1 2 32 16; dv: b2 1 2 32 16",
        read=4 * 1024 * 2,
        write=3 * 1024 * 2,
        flops={"bf16": 5 * 2 * 2 * (32 * 33 // 2) * 16},
    ),
    Case(
        # P needs q and k; v itself is not read
        "attention_gradient_of_v",
        (
            "q, k, v = (t.detach().requires_grad_() for t in (q, k, v))\n"
            "o = F.scaled_dot_product_attention(q, k, v)\n"
            "return torch.autograd.grad(o, v, g)[0]"
        ),
        "q: f4 1 2 16 8; k: f4 1 2 16 8; v: f4 1 2 16 8; g: f4 1 2 16 8",
        "dv: f4 1 2 16 8",
        read=3 * 256 * 4,
        write=256 * 4,
        flops={"fp32": 2 * 2 * 2 * 16 * 16 * 8},
    ),
    Case(
        # x and b do not matter
        "linear_gradient_of_the_input",
        (
            "x = x.detach().requires_grad_()\n"
            "y = F.linear(x, w, b)\n"
            "return torch.autograd.grad(y, x, g)[0]"
        ),
        "x: f4 16 32; w: f4 24 32; b: f4 24; g: f4 16 24",
        "dx: f4 16 32",
        read=(768 + 384) * 4,
        write=512 * 4,
        flops={"fp32": 2 * 16 * 24 * 32},
    ),
    Case(
        "conv_gradient_of_the_weight",
        ("w = w.detach().requires_grad_()\nreturn torch.autograd.grad(F.conv2d(x, w), w, g)[0]"),
        "x: f4 2 3 10 10; w: f4 4 3 3 3; g: f4 2 4 8 8",
        "dw: f4 4 3 3 3",
        read=(600 + 512) * 4,
        write=108 * 4,
        flops={"fp32": 2 * 2 * 4 * 64 * 27},
    ),
    Case(
        # column sums of x, repeated; the product itself is dead
        "gradient_of_a_sum",
        ("w = w.detach().requires_grad_()\nreturn torch.autograd.grad((x @ w).sum(), w)[0]"),
        "x: f4 64 32; w: f4 32 16",
        "dw: f4 32 16",
        read=2048 * 4,
        write=512 * 4,
    ),
    Case(
        "tiled_batch",
        "return x.repeat(4, 1) @ w",
        "x: f4 8 32; w: f4 32 24",
        "o: f4 32 24",
        read=(256 + 768) * 4,
        write=768 * 4,
        flops={"fp32": 2 * 8 * 32 * 24},
    ),
    Case(
        "interleaved_batch",
        "return torch.relu(torch.repeat_interleave(x, 4, dim=0) @ w)",
        "x: f4 8 32; w: f4 32 24",
        "o: f4 32 24",
        read=(256 + 768) * 4,
        write=768 * 4,
        flops={"fp32": 2 * 8 * 32 * 24},
    ),
    Case(
        # queries vary over heads: work is full, k and v move once
        "multi_query",
        "return torch.softmax(q @ k.expand(4, 16, 8).mT, -1) @ v.expand(4, 16, 8)",
        "q: f4 4 16 8; k: f4 1 16 8; v: f4 1 16 8",
        "o: f4 4 16 8",
        read=(512 + 256) * 4,
        write=512 * 4,
        flops={"fp32": 2 * 2 * 4 * 16 * 16 * 8},
    ),
    Case(
        # (a(bc))d: 6000 + 8000 + 12000 = 26000 multiply-adds, the textbook optimum
        "four_matrices_best_order",
        "return ((a @ b) @ c) @ d",
        "a: f4 40 20; b: f4 20 30; c: f4 30 10; d: f4 10 30",
        "o: f4 40 30",
        read=(800 + 600 + 300 + 300) * 4,
        write=1200 * 4,
        flops={"fp32": 2 * (20 * 30 * 10 + 40 * 20 * 10 + 40 * 10 * 30)},
    ),
    Case(
        "activation_pins_the_order",
        "return torch.relu(a @ b) @ v",
        "a: f4 64 64; b: f4 64 64; v: f4 64 1",
        "o: f4 64 1",
        read=(2 * 4096 + 64) * 4,
        write=64 * 4,
        flops={"fp32": 2 * 64**3 + 2 * 64 * 64},
    ),
    Case(
        "product_by_broadcast",
        "return (a[:, :, None] * b[None]).sum(1)",
        "a: f4 16 32; b: f4 32 24",
        "o: f4 16 24",
        read=(512 + 768) * 4,
        write=384 * 4,
        flops={"fp32": 2 * 16 * 32 * 24},
    ),
    Case(
        # a row scale: no sum is left
        "diagonal_matrix",
        "return torch.diag(d) @ x",
        "d: f4 64; x: f4 64 32",
        "o: f4 64 32",
        read=(64 + 2048) * 4,
        write=2048 * 4,
    ),
    Case(
        # i <= k <= j: n(n+1)(n+2)/6 products; the lower half is written as zeros
        "triangular_times_triangular",
        "return torch.triu(a) @ torch.triu(b)",
        "a: f4 16 16; b: f4 16 16",
        "o: f4 16 16",
        read=2 * (16 * 17 // 2) * 4,
        write=256 * 4,
        flops={"fp32": 2 * (16 * 17 * 18 // 6)},
    ),
    Case(
        "block_diagonal",
        "return torch.block_diag(a, b) @ x",
        "a: f4 8 4; b: f4 16 12; x: f4 16 6",
        "o: f4 24 6",
        read=(32 + 192 + 96) * 4,
        write=144 * 4,
        flops={"fp32": 2 * (8 * 4 + 16 * 12) * 6},
    ),
    Case(
        # the last rows of w meet zeros
        "zero_rows_appended",
        "return torch.cat([x, torch.zeros(16, 8, device=x.device)], 1) @ w",
        "x: f4 16 24; w: f4 32 8",
        "o: f4 16 8",
        read=(384 + 24 * 8) * 4,
        write=128 * 4,
        flops={"fp32": 2 * 16 * 24 * 8},
    ),
    Case(
        "product_with_zeros",
        "return x @ torch.zeros(32, 8, device=x.device) + y",
        "x: f4 16 32; y: f4 16 8",
        "o: f4 16 8",
        read=128 * 4,
        write=128 * 4,
    ),
    Case(
        "experts_by_known_routing",
        "return torch.bmm(x[:, None], w[e])[:, 0]",
        "x: f4 6 16; w: f4 32 16 8; e: i8 6",
        "o: f4 6 8",
        read=(96 + 3 * 128) * 4 + 48,
        write=48 * 4,
        flops={"fp32": 2 * 6 * 16 * 8},
        make="return {'e': torch.tensor([3, 3, 30, 3, 0, 30], device=device)}",
        custom=("e",),
    ),
    Case(
        "experts_by_loop_and_nonzero",
        (
            "out = torch.zeros(x.shape[0], w.shape[2], device=x.device)\n"
            "for e in range(w.shape[0]):\n"
            "    t = torch.nonzero(ids == e).flatten()\n"
            "    if t.numel() == 0:\n"
            "        continue\n"
            "    out[t] = x[t] @ w[e]\n"
            "return out"
        ),
        "x: f4 6 16; w: f4 8 16 8; ids: i8 6",
        "o: f4 6 8",
        read=(96 + 3 * 128) * 4 + 48,
        write=48 * 4,
        flops={"fp32": 2 * 6 * 16 * 8},
        make="return {'ids': torch.tensor([3, 3, 6, 3, 0, 6], device=device)}",
        custom=("ids",),
    ),
    Case(
        # the dense product is masked down to the chosen expert
        "dense_experts_masked_by_known_routing",
        (
            "y = torch.einsum('td,edf->etf', x, w)\n"
            "m = (ids[None] == torch.arange(w.shape[0], device=x.device)[:, None])\n"
            "return torch.where(m[..., None], y, 0.0).sum(0)"
        ),
        "x: f4 6 16; w: f4 8 16 8; ids: i8 6",
        "o: f4 6 8",
        read=(96 + 3 * 128) * 4 + 48,
        write=48 * 4,
        flops={"fp32": 2 * 6 * 16 * 8},
        make="return {'ids': torch.tensor([3, 3, 6, 3, 0, 6], device=device)}",
        custom=("ids",),
    ),
    Case(
        # exp(-inf) = 0 above the diagonal
        # a pair costs 8 + 4, a state 8·4, less than 3 pairs: 14 keys enter, 14 queries read, two triangles of 2
        # stay pairs
        "chunk_scan_decay_mask",
        (
            "t = a.shape[-1]\n"
            "c = torch.cumsum(a, -1)\n"
            "d = (c[:, :, None] - c[:, None, :]).masked_fill(torch.triu(torch.ones(t, t,"
            " dtype=torch.bool, device=a.device), 1), float('-inf'))\n"
            "return ((C @ B.mT) * torch.exp(d)) @ x"
        ),
        "a: f4 2 16; B: f4 2 16 8; C: f4 2 16 8; x: f4 2 16 4",
        "o: f4 2 16 4",
        read=(32 + 256 + 256 + 128) * 4,
        write=128 * 4,
        flops={"fp32": 2 * 2 * (2 * 14 * 32 + 2 * (2 * 3 // 2) * 12)},
    ),
    Case(
        # rows 5..29
        "segments_by_indptr",
        (
            "out = torch.empty(2, 8, device=x.device)\n"
            "for i in range(2):\n"
            "    s, e = int(ptr[i]), int(ptr[i + 1])\n"
            "    out[i] = x[s:e].sum(0)\n"
            "return out"
        ),
        "x: f4 100 8; ptr: i4 3",
        "o: f4 2 8",
        read=(25) * 8 * 4 + 12,
        write=16 * 4,
        make="return {'ptr': torch.tensor([5, 20, 30], dtype=torch.int32, device=device)}",
        custom=("ptr",),
    ),
    Case(
        # no product of two varying operands
        "fft_is_no_contraction",
        "return torch.fft.rfft(x).real",
        "x: f4 16 64",
        "o: f4 16 33",
        read=1024 * 4,
        write=16 * 33 * 4,
    ),
    Case(
        # the normaliser needs every logit of every row; the T x V mask is large
        "rows_of_logits_picked_by_known_targets",
        "return F.log_softmax(h @ w, -1).gather(1, t[:, None])[:, 0]",
        "h: f4 4096 8; w: f4 8 32768; t: i8 4096",
        "o: f4 4096",
        read=(4096 * 8 + 8 * 32768) * 4 + 4096 * 8,
        write=4096 * 4,
        flops={"fp32": 2 * 4096 * 8 * 32768},
        make="return {'t': (torch.arange(4096, device=device) * 7919) % 32768}",
        custom=("t",),
    ),
    Case(
        "slots_through_a_flat_view",
        ("cache.view(-1, 4, 8)[slots] = new\nreturn cache"),
        "cache: b2 64 16 4 8; new: b2 3 4 8; slots: i8 3",
        "o: b2 64 16 4 8",
        read=3 * 32 * 2 + 24,
        write=3 * 32 * 2,
        make="return {'slots': torch.tensor([5, 100, 1023], device=device)}",
        custom=("slots",),
    ),
    Case(
        # rows see 1..8 keys, then 8
        "window_and_sink",
        (
            "m = torch.triu(torch.full((32, 32), float('-inf'), device=q.device), 1) +"
            " torch.tril(torch.full((32, 32), float('-inf'), device=q.device), -8)\n"
            "s = torch.cat([q @ k.mT + m, sink[:, None, None].expand(2, 32, 1)], -1)\n"
            "return torch.softmax(s, -1)[..., :-1] @ v"
        ),
        "q: f4 2 32 16; k: f4 2 32 16; v: f4 2 32 16; sink: f4 2",
        "o: f4 2 32 16",
        read=3 * 1024 * 4 + 8,
        write=1024 * 4,
        flops={"fp32": 2 * 2 * 2 * (8 * 9 // 2 + 24 * 8) * 16},
    ),
    Case(
        # chunks of 16, 16, 8
        # in 16, 4 pairs (8 + 8 each) are worth a state (8·8): 12 keys enter, 12 queries read, and two triangles
        # of 4 stay pairs; in 8, all pairs cost less
        "remainder_chunk",
        (
            "d = torch.tril(torch.ones(16, 16, device=q.device))\n"
            "out = []\n"
            "for s in range(0, 40, 16):\n"
            "    a, b, c = q[s:s + 16], k[s:s + 16], v[s:s + 16]\n"
            "    n = a.shape[0]\n"
            "    out.append(((a @ b.T) * d[:n, :n]) @ c)\n"
            "return torch.cat(out)"
        ),
        "q: f4 40 8; k: f4 40 8; v: f4 40 8",
        "o: f4 40 8",
        read=3 * 320 * 4,
        write=320 * 4,
        flops={"fp32": 2 * (2 * (2 * 12 * 64 + 2 * (4 * 5 // 2) * 16) + 8 * 9 // 2 * 16)},
    ),
    Case(
        "block_scale_by_repeat_reshape",
        (
            "xs = sx.permute(1, 0).contiguous().unsqueeze(-1).repeat(1, 1, 128).reshape(4,"
            " 256)\n"
            "ws = torch.repeat_interleave(torch.repeat_interleave(sw, 128, dim=0), 128,"
            " dim=1)\n"
            "return (x.float() * xs) @ (w.float() * ws).t()"
        ),
        "x: e4 4 256; sx: f4 2 4; w: e4 128 256; sw: f4 1 2",
        "o: f4 4 128",
        read=1024 + 32 + 32768 + 8,
        write=512 * 4,
        flops={"fp8": 2 * 4 * 256 * 128},
    ),
    Case(
        # one scale per element of the contraction cannot be applied afterwards
        "scale_varies_within_the_contraction",
        "return x.float() @ (w.float() * s).t()",
        "x: b2 16 32; w: e4 24 32; s: f4 32",
        "o: f4 16 24",
        read=16 * 32 * 2 + 24 * 32 + 128,
        write=384 * 4,
        flops={"fp32": 2 * 16 * 32 * 24},
    ),
    Case(
        # bf16 with fp8 after hoisting the channel scale
        "scale_per_output_channel",
        "return x.float() @ (w.float() * s[:, None]).t()",
        "x: b2 16 32; w: e4 24 32; s: f4 24",
        "o: f4 16 24",
        read=16 * 32 * 2 + 24 * 32 + 96,
        write=384 * 4,
        flops={"bf16": 2 * 16 * 32 * 24},
    ),
    Case(
        # three experts with 3, 2 and 1 tokens
        "experts_routed_by_known_floats",
        (
            "i = s.argmax(-1)\n"
            "out = torch.zeros(6, 8, device=x.device)\n"
            "for e in range(4):\n"
            "    t = torch.where(i == e)[0]\n"
            "    if t.numel():\n"
            "        out.index_add_(0, t, x[t] @ w[e])\n"
            "return out"
        ),
        "x: f4 6 16; s: f4 6 4; w: f4 4 16 8",
        "o: f4 6 8",
        read=(96 + 24 + 3 * 128) * 4,
        write=48 * 4,
        flops={"fp32": 2 * 6 * 16 * 8},
        make=(
            "return {'s': torch.tensor([[9., 0, 0, 0]] * 3 + [[0, 0, 9., 0]] * 2 + [[0, 0, 0, "
            "9.]], device=device)}"
        ),
        custom=("s",),
    ),
    Case(
        "column_zeroed_through_transpose",
        ("x.t()[3].zero_()\nreturn x"),
        "x: f4 64 16",
        "o: f4 64 16",
        read=0,
        write=64 * 4,
    ),
    Case(
        "nested_view_accumulated",
        ("x.view(4, 16, 16)[1, 2:4] += y\nreturn x"),
        "x: f4 64 16; y: f4 2 16",
        "o: f4 64 16",
        read=2 * 32 * 4,
        write=32 * 4,
    ),
    Case(
        "rows_masked_in_place",
        ("x[m] = 0\nreturn x"),
        "x: f4 6 8; m: bo 6",
        "o: f4 6 8",
        read=6,
        write=2 * 8 * 4,
        make="return {'m': torch.tensor([False, True, False, False, True, False], device=device)}",
        custom=("m",),
    ),
    Case(
        # the old diagonal is not needed
        "diagonal_scattered_out_of_place",
        "return torch.diagonal_scatter(x, d)",
        "x: f4 32 32; d: f4 32",
        "o: f4 32 32",
        read=(32 * 31 + 32) * 4,
        write=1024 * 4,
    ),
    Case(
        # three of four old columns
        "ring_buffer_shift",
        ("c = torch.cat([x[:, :, 1:], n[:, :, None]], 2)\nx.copy_(c)\nreturn (x * w).sum(-1), x"),
        "x: f4 2 8 4; n: f4 2 8; w: f4 8 4",
        "o: f4 2 8; s: f4 2 8 4",
        read=(2 * 8 * 3 + 16 + 32) * 4,
        write=(16 + 64) * 4,
        flops={"fp32": 2 * 2 * 8 * 4},
    ),
    Case(
        "attention_in_tiles",
        (
            "o = []\n"
            "for i in range(0, 32, 8):\n"
            "    m = torch.full((2, 8, 1), float('-inf'), device=q.device)\n"
            "    l = torch.zeros(2, 8, 1, device=q.device)\n"
            "    a = torch.zeros(2, 8, 16, device=q.device)\n"
            "    for j in range(0, 32, 8):\n"
            "        s = q[:, i:i + 8] @ k[:, j:j + 8].mT\n"
            "        n = torch.maximum(m, s.amax(-1, keepdim=True))\n"
            "        p = torch.exp(s - n)\n"
            "        c = torch.exp(m - n)\n"
            "        l = l * c + p.sum(-1, keepdim=True)\n"
            "        a = a * c + p @ v[:, j:j + 8]\n"
            "        m = n\n"
            "    o.append(a / l)\n"
            "return torch.cat(o, 1)"
        ),
        "q: f4 2 32 16; k: f4 2 32 16; v: f4 2 32 16",
        "o: f4 2 32 16",
        read=3 * 1024 * 4,
        write=1024 * 4,
        flops={"fp32": 2 * 2 * 2 * 32 * 32 * 16},
    ),
    Case(
        "convolution_by_unfold",
        "return (w.view(4, -1) @ F.unfold(x, 3)).view(2, 4, 8, 8)",
        "x: f4 2 3 10 10; w: f4 4 3 3 3",
        "o: f4 2 4 8 8",
        read=(600 + 108) * 4,
        write=512 * 4,
        flops={"fp32": 2 * 2 * 4 * 64 * 27},
    ),
    Case(
        # a transposed view: nothing moves twice
        "patch_embedding",
        "return F.conv2d(x, w, stride=4).flatten(2).transpose(1, 2)",
        "x: f4 2 3 16 16; w: f4 8 3 4 4",
        "o: f4 2 16 8",
        read=(1536 + 384) * 4,
        write=256 * 4,
        flops={"fp32": 2 * 2 * 16 * 48 * 8},
    ),
    Case(
        "multi_head_module",
        (
            "return F.multi_head_attention_forward(x, x, x, 16, 4, wi, bi, None, None,"
            " False, 0.0, wo, bo, training=False, need_weights=False)[0]"
        ),
        "x: f4 8 2 16; wi: f4 48 16; bi: f4 48; wo: f4 16 16; bo: f4 16",
        "o: f4 8 2 16",
        read=(256 + 768 + 48 + 256 + 16) * 4,
        write=256 * 4,
        flops={"fp32": 2 * 16 * 16 * 48 + 2 * 2 * 2 * 4 * 8 * 8 * 4 + 2 * 16 * 16 * 16},
    ),
    Case(
        "pooled_sequence_projection",
        "return F.linear(x, w, b).mean(1)",
        "x: f4 2 32 16; w: f4 8 16; b: f4 8",
        "o: f4 2 8",
        read=(1024 + 128 + 8) * 4,
        write=16 * 4,
        flops={"fp32": 2 * 2 * 16 * 8},
    ),
    Case(
        # row 1 is repeated zero times
        "repeats_known",
        "return torch.repeat_interleave(x, r, dim=0)",
        "x: f4 4 8; r: i8 4",
        "o: f4 6 8",
        read=3 * 32 + 32,
        write=6 * 32,
        make="return {'r': torch.tensor([3, 0, 1, 2], device=device)}",
        custom=("r",),
    ),
    Case(
        "reinterpreted_bits",
        "return (x.view(torch.int32) & 0x7FFF0000).view(torch.float32)",
        "x: f4 16 16",
        "o: f4 16 16",
        read=1024,
        write=1024,
    ),
    Case(
        "scores_of_a_ragged_batch",
        (
            "out = q.new_zeros(2, 4, 24)\n"
            "for i, n in enumerate(lens.tolist()):\n"
            "    out[i, :, :n] = q[i] @ k[i, :n].T\n"
            "return out"
        ),
        "q: f4 2 4 16; k: f4 2 24 16; lens: i8 2",
        "o: f4 2 4 24",
        read=(128 + (7 + 19) * 16) * 4 + 16,
        write=192 * 4,
        flops={"fp32": 2 * 4 * 16 * (7 + 19)},
        make="return {'lens': torch.tensor([7, 19], device=device)}",
        custom=("lens",),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_bound_is_exact(case: Case, tmp_path: Path) -> None:
    write_problem(case, tmp_path)
    (bound,) = derive_bound(load_problem(tmp_path), "h200")
    assert bound.error is None
    assert bound.unknown_ops == ()
    assert bound.matrix_flops == case.flops
    assert bound.dram_read_bytes == case.read
    assert bound.dram_write_bytes == case.write
