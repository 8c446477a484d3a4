"""Reductions over dimensions, sums that are written-out contractions, and scans."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from solbench.bound import _access, _pins
from solbench.bound._access import Along, Axis, Fixed, Whole
from solbench.bound._lifted import Few, Lifted, Map, Operand
from solbench.bound._spans import Span
from solbench.bound.rules._base import Call, rule
from solbench.bound.rules.elementwise import triangle_box
from solbench.bound.rules.indexing import note_distinct

SCANNED_ELEMENTS = 1 << 12
"""Sorted lines up to this length are read whole: a search saves nothing."""


@rule("aten.sum", "aten.mean", "aten.nansum", "aten.sum_to_size")
def total(call: Call) -> Iterable[Lifted]:
    """Sum or mean; of a product of two tensors it is a contraction."""
    dims = call.dims()
    if call.args.get("dim") is None and "sum_to_size" in call.node.op:
        dims = _summed_to(call.shape(), call.shape(0))
    plain = call.reduce(dims, linear=True, pin=_pins.keep_zero)
    factors = _factors(call)
    if factors is None:
        yield plain
    else:
        yield Map(
            plain.outs, plain.out_axes, plain.ranks, factors, flavour="computed",
            contracts=True, linear=True, pin=_pins.product, ops=0,
        )  # fmt: skip


def _summed_to(shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    skipped = len(shape) - len(target)
    return tuple(d for d, n in enumerate(shape) if d < skipped or target[d - skipped] != n)


def _factors(call: Call) -> tuple[Operand, ...] | None:
    """The two tensors whose product is summed, seen through casts and scalar factors."""
    value = call.id("self")
    if not call.values[value].dtype.is_floating_point:
        return None
    made = call.maker.get(value)
    while isinstance(made, Map) and _passes(made):
        made = call.maker.get(made.operands[0].value)
    if not isinstance(made, Map) or made.flavour != "product" or len(made.operands) != 2:
        return None
    first, second = made.operands
    if not made.linear or first.value == second.value or ("inverse", second.value) in call.shared:
        return None  # a square is no product of two tensors, nor is a quotient
    return made.operands


def _passes(made: Map) -> bool:
    """A cast or a scalar factor: one operand, every position in place."""
    return (
        len(made.operands) == 1
        and made.linear
        and not made.coupled
        and made.operands[0].axes == _access.identity(len(made.ranks))
        and made.out_axes[0] == made.operands[0].axes
        and made.operands[0].within is None
    )


@rule("aten.trace")
def trace(call: Call) -> Iterable[Lifted]:
    size = min(call.shape())
    operand = call.operand("self", (Along(0), Along(0)))
    yield Map(call.outputs[:1], ((),), (size,), (operand,), flavour="computed", linear=True)


@rule(
    "aten.amax", "aten.amin", "aten.prod", "aten.any", "aten.all", "aten.logsumexp",
    "aten.linalg_vector_norm", "aten.norm", "aten.argmax", "aten.argmin", "aten.var", "aten.std",
    "aten.count_nonzero", "aten.max.default", "aten.min.default", "aten.median.default",
    "aten.frobenius_norm", "aten.nanmedian.default",
)  # fmt: skip
def folded(call: Call) -> Iterable[Lifted]:
    """One number a line, not linear."""
    yield call.reduce(call.dims(), ops=1)


@rule("aten.var_mean", "aten.std_mean", "aten.aminmax")
def two_moments(call: Call) -> Iterable[Lifted]:
    for out in call.node.results():
        yield call.reduce(call.dims(), outs=(out,))


@rule(
    "aten.max.dim", "aten.min.dim", "aten.median.dim", "aten.mode", "aten.kthvalue",
    "aten.nanmedian.dim",
)  # fmt: skip
def extreme(call: Call) -> Iterable[Lifted]:
    """(values, indices): either may go unused."""
    dims = (call.dim(),) if call.shape() else ()
    for index, out in enumerate(call.outputs):
        yield call.reduce(dims, outs=(out,), flavour="moved" if index == 0 else "computed")


@rule("aten.max.other", "aten.min.other")
def pairwise(call: Call) -> Iterable[Lifted]:
    yield call.pointwise(flavour="moved")


@rule("aten.cumsum", "aten.cumprod", "aten.cummax", "aten.cummin", "aten.logcumsumexp")
def scan(call: Call) -> Iterable[Lifted]:
    """Each position needs those before it; the last needed one decides."""
    dim, shape = call.dim(), call.shape()
    if not shape:
        yield from (call.pointwise("self", out=o) for o in call.outputs)
        return

    count = len(shape)
    line = shape[dim]
    ranks = (*shape, line)
    # position i reads positions j <= i: a triangle over (i, j), where it is small enough to hold
    axes = tuple(Along(count if d == dim else d) for d in range(count))
    small = line * line <= 1 << 22
    within = None
    if small:
        box = triangle_box((line, line), 0, lower=True)
        assert box is not None
        within = _access.push(box, (Along(dim), Along(count)), ranks)
    for index, out in enumerate(call.outputs):
        operand = call.operand("self", axes, within=within)
        yield Map(
            (out,), (_access.identity(count),), ranks, (operand,),
            flavour="computed" if index == 0 else "moved", ops=0,
            pin=None if "log" in call.node.op else _pins.zero_within(within, ranks),
        )  # fmt: skip


@rule("aten.sort", "aten.argsort", "aten.msort")
def sort(call: Call) -> Iterable[Lifted]:
    dims = (call.dim(),) if call.shape() else ()
    for index, out in enumerate(call.outputs):
        yield call.lines(dims, out=out, flavour="moved" if index == 0 else "computed", ops=4)
    if dims and "msort" not in call.node.op:
        note_distinct(call, call.outputs[-1], dims[0])


@rule("aten.topk")
def top(call: Call) -> Iterable[Lifted]:
    """The k greatest along a dimension: every element of the line is read."""
    count = len(call.shape())
    dim = call.dim() if count else 0
    axes = tuple(Whole() if d == dim else Along(d) for d in range(count))
    for index, out in enumerate(call.outputs):
        ranks = call.shape(index)
        yield Map(
            (out,), (_access.identity(count),), ranks, (call.operand("self", axes),),
            flavour="moved" if index == 0 else "computed", coupled=frozenset({dim} & set(range(count))),
        )  # fmt: skip
    note_distinct(call, call.outputs[1], dim)


@rule(
    "aten.bincount", "aten.histc", "aten.unique_consecutive", "aten._unique2", "aten.unique_dim",
    "aten.nonzero", "aten.masked_select", "aten.equal", "aten._local_scalar_dense", "aten.item",
    "aten.isin", "aten.nonzero_static",
    "aten.repeat_interleave.Tensor", "aten._assert_async", "aten.allclose", "aten.dist",
)  # fmt: skip
def by_value(call: Call) -> Iterable[Lifted]:
    """What is where depends on values: everything is read."""
    yield call.everything()


@rule("aten.searchsorted", "aten.bucketize")
def searched(call: Call) -> Iterable[Lifted]:
    """A place in a long sorted line is found by comparing with a few of its elements; one is the least."""
    line = call.first("sorted_sequence", "boundaries")
    ranks, count = call.shape(0), len(call.shape(line))
    batch = tuple(Along(d) for d in range(count - 1))
    short = call.shape(line)[-1] <= SCANNED_ELEMENTS
    operands = [call.operand(line, (*batch, Whole() if short else Fixed()))]
    if call.has("self"):
        operands.insert(0, call.operand("self", _access.identity(len(ranks))))
    yield Map(
        call.outputs[:1],
        (_access.identity(len(ranks)),),
        ranks,
        tuple(operands),
        flavour="computed",
    )


@rule("aten._fft_r2c", "aten._fft_c2c", "aten._fft_c2r")
def fourier(call: Call) -> Iterable[Lifted]:
    """Every frequency needs the whole line; fast algorithms make it vector work, not a product."""
    dims = call.dims()
    shape, ranks = call.shape(), call.shape(0)
    axes: list[Axis] = [Whole() if d in dims else Along(d) for d in range(len(shape))]
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks,
        (call.operand("self", tuple(axes)),), flavour="computed", linear=False,
        coupled=frozenset(dims), ops=10,
    )  # fmt: skip


@rule("aten.one_hot")
def one_hot(call: Call) -> Iterable[Lifted]:
    ranks = call.shape(0)
    operand = call.operand("self", _access.identity(len(ranks) - 1))
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, (operand,), flavour="computed",
        coupled=frozenset({len(ranks) - 1}), span=lambda spans: Span(0, 1, True),
        few=(Few(frozenset({len(ranks) - 1}), 1),),
    )  # fmt: skip


@rule("aten.cross", "aten.linalg_cross")
def cross(call: Call) -> Iterable[Lifted]:
    ranks = call.shape(0)
    dim = call.dim(rank=len(ranks))
    operands = tuple(
        call.operand(a, _access.broadcast(call.shape(a), ranks)) for a in ("self", "other")
    )
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, operands,
        flavour="computed", coupled=frozenset({dim}), ops=5,
    )  # fmt: skip
