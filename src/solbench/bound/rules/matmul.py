"""Matrix products: contractions of two operands over a shared rank."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from solbench.bound import _pins
from solbench.bound._access import Along, Axis, Fixed, Table, Whole
from solbench.bound._lifted import Lifted, Map, Operand
from solbench.bound._region import Box
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, MissingRule, rule


@rule("aten.mm", "aten._int_mm")
def matrix_product(call: Call) -> Iterable[Lifted]:
    yield call.einsum("ik,kj->ij", "self", "mat2")


@rule("aten.bmm")
def batched_product(call: Call) -> Iterable[Lifted]:
    yield call.einsum("bik,bkj->bij", "self", "mat2")


@rule("aten.mv")
def matrix_vector(call: Call) -> Iterable[Lifted]:
    yield call.einsum("ik,k->i", "self", "vec")


@rule("aten.dot", "aten.vdot", "aten.inner")
def inner(call: Call) -> Iterable[Lifted]:
    yield call.einsum("k,k->", "self", call.first("tensor", "other"))


@rule("aten.outer", "aten.ger")
def outer(call: Call) -> Iterable[Lifted]:
    """No rank is summed: vector work."""
    yield call.einsum("i,j->ij", "self", "vec2")


def _plus(call: Call, equation: str, left: str | Ref, right: str | Ref) -> Iterable[Lifted]:
    """``beta * self + alpha * (left @ right)``; a factor of zero drops its term."""
    if float(call.args.get("alpha", 1)) == 0:
        yield call.pointwise("self", linear=True)
        return
    if float(call.args.get("beta", 1)) == 0:
        yield call.einsum(equation, left, right)
        return
    product = call.temporary(call.shape(0), call.values[call.outputs[0]].dtype)
    yield call.einsum(equation, left, right, out=product)
    yield call.pointwise("self", product, linear=True, pin=_pins.total, ops=1)


@rule("aten.addmm", "aten._addmm_activation")
def add_product(call: Call) -> Iterable[Lifted]:
    yield from _plus(call, "ik,kj->ij", "mat1", "mat2")


@rule("aten.baddbmm")
def add_batched(call: Call) -> Iterable[Lifted]:
    yield from _plus(call, "bik,bkj->bij", "batch1", "batch2")


@rule("aten.addbmm")
def add_summed(call: Call) -> Iterable[Lifted]:
    yield from _plus(call, "bik,bkj->ij", "batch1", "batch2")


@rule("aten.addmv")
def add_vector(call: Call) -> Iterable[Lifted]:
    yield from _plus(call, "ik,k->i", "mat", "vec")


@rule("aten.addr")
def add_outer(call: Call) -> Iterable[Lifted]:
    yield from _plus(call, "i,j->ij", "vec1", "vec2")


@rule("aten.linear")
def linear(call: Call) -> Iterable[Lifted]:
    lead = "abcdefgh"[: len(call.shape("input")) - 1]
    single = len(call.shape("weight")) == 1
    equation = f"{lead}k,k->{lead}" if single else f"{lead}k,ok->{lead}o"
    if not call.has("bias"):
        yield call.einsum(equation, "input", "weight")
        return
    product = call.temporary(call.shape(0), call.values[call.outputs[0]].dtype)
    yield call.einsum(equation, "input", "weight", out=product)
    yield call.pointwise(product, "bias", linear=True, pin=_pins.total)


@rule("aten.matmul")
def matmul(call: Call) -> Iterable[Lifted]:
    """Leading dimensions broadcast; a vector loses its dimension."""
    left, right = call.shape("self"), call.shape("other")
    first = "ik" if len(left) > 1 else "k"
    second = "kj" if len(right) > 1 else "k"
    lead = "abcdefgh"[: max(len(left), len(right), 2) - 2]
    first = lead[len(lead) - max(len(left) - 2, 0) :] + first if len(left) > 2 else first
    second = lead[len(lead) - max(len(right) - 2, 0) :] + second if len(right) > 2 else second
    result = lead + "i" * (len(left) > 1) + "j" * (len(right) > 1)
    yield call.einsum(f"{first},{second}->{result}", "self", "other")


@rule("aten._scaled_mm")
def scaled_product(call: Call) -> Iterable[Lifted]:
    """fp8 or nvfp4 operands; the scales are applied to sums, outside the matrix unit."""
    if call.value("self").dtype.itemsize == 1 and "float4" in str(call.value("self").dtype):
        raise MissingRule("packed fp4 operands")
    product = call.temporary(call.shape(0), torch.float32)
    yield call.einsum("ik,kj->ij", "self", "mat2", out=product)
    scales = [s for s in ("scale_a", "scale_b") if call.has(s)]
    scaled = call.temporary(call.shape(0), torch.float32)
    applied = call.everything(outs=(scaled,))
    operands = [o for o in applied.operands if o.value in {call.id(s) for s in scales}]
    base = call.pointwise(product, out=scaled, linear=False)
    yield type(base)(
        base.outs, base.out_axes, base.ranks, (*base.operands, *operands), flavour="computed"
    )
    rest = ["bias"] if call.has("bias") else []
    yield call.pointwise(scaled, *rest)


@rule("aten._grouped_mm")
def grouped_product(call: Call) -> Iterable[Lifted]:
    """Rows times the matrix of their group: rows up to ``offs[g]`` belong to group ``g`` or one before it.

    Rows after the last group are no result. Without known offsets the least is one group's matrix.
    """
    left, right = call.shape("self"), call.shape("mat2")
    if call.has("bias"):
        raise MissingRule("a grouped product with a bias")
    if len(left) == len(right) == 3:
        yield call.einsum("gik,gkj->gij", "self", "mat2")
        return
    if (len(left), len(right)) != (2, 3):
        raise MissingRule("a grouped product that sums over groups")
    (rows, inner), columns = left, right[2]
    content = call.known("offs")
    ranks, end = (rows, columns, inner), rows
    group: Axis = Fixed()
    if content is not None:
        ends = content.cpu().numpy()
        end = min(rows, int(ends[-1])) if len(ends) else 0
        owners = np.searchsorted(ends, np.arange(rows), side="right")
        group = Table(0, np.minimum(owners, right[0] - 1))
    box = Box((range(end), range(columns), range(inner)))
    within = None if end == rows else box
    offsets = Operand(call.id("offs"), (Whole(),))
    operands = (
        call.operand("self", (Along(0), Along(2)), within=within),
        call.operand("mat2", (group, Along(2), Along(1)), within=within),
        offsets,
    )
    out = (Along(0), Along(1))
    yield Map(
        call.outputs[:1], (out,), ranks, operands, flavour="computed", contracts=True,
        pin=_pins.product if end == rows else _pins.of_box(0.0, box if end else None), ops=0,
    )  # fmt: skip


@rule("aten._trilinear")
def bilinear(call: Call) -> Iterable[Lifted]:
    """``out[n, o] = sum over i, j of x[n, i] * w[o, i, j] * y[n, j]``, as ``nn.Bilinear`` calls it.

    The cheapest order forms ``x[n, i] * y[n, j]`` first, which sums nothing.
    """
    dims = [tuple(call.args[a]) for a in ("expand1", "expand2", "expand3", "sumdim")]
    if dims != [(1, 3), (0,), (1, 2), (2, 3)]:
        raise MissingRule("another three-operand product")
    (rows, left), right = call.shape("i1"), call.shape("i3")[1]
    pairs = call.temporary((rows, left, right), call.value("i1").dtype)
    yield call.einsum("ni,nj->nij", "i1", "i3", out=pairs)
    yield call.einsum("nij,oij->no", pairs, "i2")


@rule("aten.einsum")
def einsum(call: Call) -> Iterable[Lifted]:
    """Two operands without ellipsis or repeated letters; capture breaks other forms into products."""
    equation = str(call.args["equation"]).replace(" ", "")
    tensors = [t for t in call.tensors() if isinstance(t, Ref)]
    left, _, _ = equation.partition("->")
    terms = left.split(",")
    if "." in equation or "->" not in equation or len(terms) != 2:
        raise MissingRule(f"einsum {equation}")
    if any(len(set(t)) != len(t) for t in terms):
        raise MissingRule(f"einsum {equation}")
    yield call.einsum(equation, tensors[0], tensors[1])
