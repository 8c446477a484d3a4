"""Views and other pure movements: positions are renamed, nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solbench.bound import _access, _pins, _region, _sets
from solbench.bound._access import Along, Axis, Fixed, Table, Taps
from solbench.bound._lifted import Alias, Lifted, Map, Pin, Reshape
from solbench.bound._sets import DENSE_LIMIT
from solbench.bound.rules._base import Call, MissingRule, rule


@rule(
    "aten.view.default", "aten._unsafe_view", "aten.reshape", "aten._reshape_alias",
    "aten.view_copy.default", "aten.flatten", "aten.unflatten", "aten.squeeze", "aten.unsqueeze",
    "aten._reshape_copy", "aten.view_as", "aten.ravel", "aten.squeeze_copy", "aten.unsqueeze_copy",
)  # fmt: skip
def reshape(call: Call) -> Iterable[Lifted]:
    if call.shape() == call.shape(0):
        yield Alias(call.outputs[0], call.id("self"))
    else:
        yield call.reshaped()


@rule("aten.view.dtype")
def reinterpret(call: Call) -> Iterable[Lifted]:
    """Other values from the same bytes; elements of another width regroup the last dimension."""
    source, target = call.value("self"), call.values[call.outputs[0]]
    if source.shape == target.shape:
        yield call.pointwise("self", ops=0)
        return
    ratio = max(source.shape[-1], 1) / max(target.shape[-1], 1)
    ranks = target.shape
    last: Axis
    if ratio >= 1:
        width = int(ratio)
        table = np.arange(ranks[-1] * width).reshape(ranks[-1], width)
        ranks = (*ranks, width)
        last = Taps(len(ranks) - 2, len(ranks) - 1, table)
    else:
        width = round(1 / ratio)
        # windows of one: the parts of an element differ, which a plain table would deny
        table = (np.arange(ranks[-1]) // width)[:, None]
        ranks = (*ranks, 1)
        last = Taps(len(ranks) - 2, len(ranks) - 1, table)
    axes = (*_access.identity(len(target.shape) - 1), last)
    yield Map(
        (target.id,), (_access.identity(len(target.shape)),), ranks,
        (call.operand("self", axes),), flavour="computed", ops=0,
    )  # fmt: skip


@rule("aten.view_as_real", "aten.view_as_complex", "aten._view_as_real", "aten._view_as_complex")
def complex_view(call: Call) -> Iterable[Lifted]:
    """A trailing dimension of 2 (real, imaginary) against none."""
    long = max(call.shape(), call.shape(0), key=len)
    short = min(call.shape(), call.shape(0), key=len)
    axes = _access.identity(len(short))
    if len(call.shape()) == len(short):
        operand = call.operand("self", axes)
        # the real and the imaginary part differ, though they are read at the same place
        yield Map(
            call.outputs[:1], (_access.identity(len(long)),), long, (operand,),
            coupled=frozenset({len(short)}), pin=_pins.keep, ops=0,
        )  # fmt: skip
    else:
        operand = call.operand("self", _access.identity(len(long)))
        yield Map(call.outputs[:1], (axes,), long, (operand,), ops=0)


@rule("aten.permute", "aten.permute_copy", "aten.movedim")
def permute(call: Call) -> Iterable[Lifted]:
    count = len(call.shape())
    order = [d % count for d in call.args["dims"]]
    yield call.moved(call.shape(0), tuple(Along(order.index(d)) for d in range(count)))


@rule("aten.transpose.int", "aten.transpose_copy.int", "aten.swapaxes", "aten.swapdims")
def transpose(call: Call) -> Iterable[Lifted]:
    count = len(call.shape())
    order = list(range(count))
    if count:
        first, second = (int(call.args[a]) % count for a in _pair(call))
        order[first], order[second] = order[second], order[first]
    yield call.moved(call.shape(0), tuple(Along(d) for d in order))


def _pair(call: Call) -> tuple[str, str]:
    return ("dim0", "dim1") if "dim0" in call.args else ("axis0", "axis1")


@rule("aten.t", "aten.t_copy", "aten.numpy_T", "aten.mT", "aten.adjoint")
def transpose_last(call: Call) -> Iterable[Lifted]:
    order = list(range(len(call.shape())))
    if len(order) > 1:
        order[-1], order[-2] = order[-2], order[-1]
    yield call.moved(call.shape(0), tuple(Along(d) for d in order))


@rule("aten.expand", "aten.expand_copy", "aten.expand_as", "aten.broadcast_to")
def expand(call: Call) -> Iterable[Lifted]:
    if call.shape() == call.shape(0):
        yield Alias(call.outputs[0], call.id("self"))
        return
    ranks = call.shape(0)
    yield call.moved(ranks, _access.broadcast(call.shape(), ranks))


@rule("aten.repeat", "aten.tile")
def repeat(call: Call) -> Iterable[Lifted]:
    ranks, shape = call.shape(0), call.shape()
    skipped = len(ranks) - len(shape)
    axes: list[Axis] = []
    for dim, size in enumerate(shape):
        rank = skipped + dim
        same = ranks[rank] == size
        axes.append(Along(rank) if same else Table(rank, np.arange(ranks[rank]) % max(size, 1)))
    yield call.moved(ranks, tuple(axes))


@rule("aten.repeat_interleave.self_int")
def repeat_each(call: Call) -> Iterable[Lifted]:
    shape, ranks = call.shape(), call.shape(0)
    if call.args.get("dim") is None:
        flat = call.temporary((call.value("self").numel,), call.value("self").dtype)
        yield Reshape(flat, call.id("self"))
        table = np.arange(ranks[0]) // int(call.args["repeats"])
        yield call.moved(ranks, (Table(0, table),), flat)
        return
    dim = call.dim()
    table = np.arange(ranks[dim]) // int(call.args["repeats"])
    axes = list(_access.identity(len(shape)))
    axes[dim] = Table(dim, table)
    yield call.moved(ranks, tuple(axes))


def slice_start(size: int, start: int | None, step: int = 1) -> int:
    """First index of a Python-style slice."""
    return range(size)[slice(start, None, step)].start if size else 0


@rule("aten.slice.Tensor", "aten.slice_copy.Tensor", "aten.narrow", "aten.narrow_copy")
def slice_(call: Call) -> Iterable[Lifted]:
    if call.shape() == call.shape(0):
        yield Alias(call.outputs[0], call.id("self"))
        return
    dim = call.dim()
    step = int(call.args.get("step", 1))
    start = slice_start(call.shape()[dim], call.args.get("start"), step)
    yield call.moved(call.shape(0), at(len(call.shape()), dim, Along(dim, start, step)))


def at(count: int, dim: int, axis: Axis) -> tuple[Axis, ...]:
    """Identity axes but for one dimension."""
    return tuple(axis if d == dim else Along(d) for d in range(count))


@rule("aten.select.int", "aten.select_copy.int")
def select(call: Call) -> Iterable[Lifted]:
    dim, shape = call.dim(), call.shape()
    index = int(call.args["index"]) % shape[dim]
    yield call.moved(call.shape(0), _without(len(shape), dim, index))


def _without(count: int, dim: int, index: int) -> tuple[Axis, ...]:
    """Axes over an output that lacks ``dim``."""
    return tuple(Fixed(index) if d == dim else Along(d if d < dim else d - 1) for d in range(count))


@rule("aten.unbind", "aten.unbind_copy")
def unbind(call: Call) -> Iterable[Lifted]:
    dim, count = call.dim(), len(call.shape())
    for index, out in enumerate(call.outputs):
        yield call.moved(call.shape(index), _without(count, dim, index), out=out)


@rule(
    "aten.split", "aten.split_with_sizes", "aten.chunk", "aten.tensor_split", "aten.unsafe_split",
    "aten.split_copy", "aten.split_with_sizes_copy", "aten.unsafe_chunk",
    "aten.unsafe_split_with_sizes",
)  # fmt: skip
def split(call: Call) -> Iterable[Lifted]:
    dim, count, start = call.dim(), len(call.shape()), 0
    for index, out in enumerate(call.outputs):
        ranks = call.shape(index)
        yield call.moved(ranks, at(count, dim, Along(dim, start)), out=out)
        start += ranks[dim]


@rule("aten.diagonal", "aten.diagonal_copy")
def diagonal(call: Call) -> Iterable[Lifted]:
    shape = call.shape()
    first, second = (int(call.args[a]) % len(shape) for a in ("dim1", "dim2"))
    offset, last = int(call.args["offset"]), len(shape) - 2
    rest = iter(range(last))
    starts = {first: max(0, -offset), second: max(0, offset)}
    axes = tuple(
        Along(last, starts[d]) if d in starts else Along(next(rest)) for d in range(len(shape))
    )
    yield call.moved(call.shape(0), axes)


@rule("aten.diag_embed")
def diagonal_matrix(call: Call) -> Iterable[Lifted]:
    """The last dimension on a diagonal, zeros elsewhere."""
    ranks = call.shape(0)
    first, second = (int(call.args[a]) % len(ranks) for a in ("dim1", "dim2"))
    offset = int(call.args["offset"])
    mask = np.eye(ranks[first], ranks[second], offset, dtype=np.bool_)
    box = _region.make_box([range(n) for n in ranks], [_region.Joint((first, second), mask)], ranks)
    rest = [d for d in range(len(ranks)) if d not in (first, second)]
    axes = (*(Along(d) for d in rest), Along(first, min(0, offset)))
    operands = () if box is None else (call.operand("self", axes, within=box),)
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, operands,
        pin=lambda pins: Pin(0.0, box), ops=0,
    )  # fmt: skip


@rule("aten.unfold", "aten.unfold_copy")
def unfold(call: Call) -> Iterable[Lifted]:
    """Sliding windows: a dimension becomes (window, place in the window), the latter last."""
    ranks = call.shape(0)
    dim = int(call.args["dimension"]) % max(len(call.shape()), 1)
    step, last = int(call.args["step"]), len(ranks) - 1
    table = np.arange(ranks[dim])[:, None] * step + np.arange(ranks[last])[None, :]
    yield call.moved(ranks, at(len(call.shape()), dim, Taps(dim, last, table)))


@rule("aten.as_strided", "aten.as_strided_copy")
def as_strided(call: Call) -> Iterable[Lifted]:
    """Any layout, through flat positions of the underlying contiguous tensor."""
    source, ranks = call.value("self"), call.shape(0)
    count = int(np.prod(ranks, dtype=np.int64))
    if not _contiguous(source.shape, source.stride) or count > DENSE_LIMIT:
        raise MissingRule("as_strided of a tensor that is not contiguous, or too large")
    offset = call.args.get("storage_offset")
    table = np.zeros(1, dtype=np.int64)
    table += (source.storage_offset if offset is None else int(offset)) - source.storage_offset
    for size, stride in zip(ranks, call.args["stride"], strict=True):
        table = np.add.outer(table, np.arange(size) * stride)
    yield from flat_gather(call, "self", table.reshape(-1))


def _contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    expected = 1
    for size, step in zip(reversed(shape), reversed(stride), strict=True):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True


def flat_gather(call: Call, argument: str, table: _sets.Indices) -> Iterable[Lifted]:
    """Output element ``i`` (flat) is the operand's flat element ``table[i]``."""
    value, target = call.value(argument), call.values[call.outputs[0]]
    flat = call.temporary((value.numel,), value.dtype)
    picked = call.temporary((len(table),), target.dtype)
    yield Reshape(flat, value.id)
    yield call.moved((len(table),), (Table(0, table.astype(np.int64)),), flat, out=picked)
    yield Reshape(target.id, picked)
