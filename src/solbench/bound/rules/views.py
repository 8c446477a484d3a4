"""Views and other pure movements: positions are renamed, nothing is computed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solbench.bound import _access, _pins, _region, _sets
from solbench.bound._access import Along, Axis, Fixed, Table, Taps
from solbench.bound._lifted import Alias, Lifted, Map, Operand, Pin, Reshape
from solbench.bound._sets import DENSE_LIMIT
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules.elementwise import constant_pin


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
    yield call.moved(call.shape(0), _at(len(call.shape()), dim, Along(dim, start, step)))


def _at(count: int, dim: int, axis: Axis) -> tuple[Axis, ...]:
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
        yield call.moved(ranks, _at(count, dim, Along(dim, start)), out=out)
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
    yield call.moved(ranks, _at(len(call.shape()), dim, Taps(dim, last, table)))


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


@rule("aten.flip")
def flip(call: Call) -> Iterable[Lifted]:
    shape = call.shape()
    dims = call.dims("dims")
    axes = tuple(Along(d, n - 1, -1) if d in dims else Along(d) for d, n in enumerate(shape))
    yield call.moved(shape, axes)


@rule("aten.roll")
def roll(call: Call) -> Iterable[Lifted]:
    shape, shifts = call.shape(), call.args["shifts"]
    given = call.args.get("dims") or ()
    if not given:
        table = np.roll(np.arange(call.value("self").numel), shifts[0])
        yield from flat_gather(call, "self", table)
        return
    axes: list[Axis] = list(_access.identity(len(shape)))
    for shift, dim in zip(shifts, given, strict=True):
        size = shape[dim % len(shape)]
        axes[dim % len(shape)] = Table(dim % len(shape), np.roll(np.arange(size), shift))
    yield call.moved(shape, tuple(axes))


@rule("aten.cat", "aten.concat", "aten.concatenate")
def concatenate(call: Call) -> Iterable[Lifted]:
    ranks = call.shape(0)
    dim, start = call.dim(rank=len(ranks)), 0
    operands = []
    for tensor in call.tensors():
        shape = call.shape(tensor)
        if len(shape) != len(ranks) or shape[dim] == 0:
            continue  # torch lets empty tensors of any shape through
        axes = _at(len(ranks), dim, Along(dim, -start))
        operands.append(call.operand(tensor, axes, within=_span(ranks, dim, start, shape[dim])))
        start += shape[dim]
    yield _gathered(call, ranks, operands)


def _gathered(call: Call, ranks: tuple[int, ...], operands: list[Operand]) -> Map:
    axes = _access.identity(len(ranks))
    pin = _pins.of_pieces([o.within for o in operands], ranks)
    return Map(call.outputs[:1], (axes,), ranks, tuple(operands), linear=True, pin=pin, ops=0)


def _span(ranks: tuple[int, ...], dim: int, start: int, length: int) -> _region.Box | None:
    """Part of the output along one dimension; ``None`` if it is all of it."""
    if length == ranks[dim]:
        return None
    return _region.Box(
        tuple(range(start, start + length) if d == dim else range(n) for d, n in enumerate(ranks))
    )


@rule("aten.block_diag")
def block_diagonal(call: Call) -> Iterable[Lifted]:
    """Matrices along the diagonal, zeros elsewhere."""
    ranks = call.shape(0)
    top = left = 0
    operands = []
    for tensor in call.tensors():
        shape = call.shape(tensor)
        rows, columns = (1, 1, *shape)[-2:]
        matrix = call.temporary((rows, columns), call.value(tensor).dtype)
        yield Reshape(matrix, call.id(tensor))
        part = _region.make_box([range(top, top + rows), range(left, left + columns)], [], ranks)
        if part is not None:
            axes = (Along(0, -top), Along(1, -left))
            operands.append(call.operand(matrix, axes, within=part))
        top, left = top + rows, left + columns
    inside = _region.of_boxes(ranks, [o.within for o in operands])
    pin = _pins.of_region(0.0, inside)
    yield Map(
        call.outputs[:1], (_access.identity(2),), ranks, tuple(operands), linear=True,
        pin=lambda pins: pin, ops=0,
    )  # fmt: skip


@rule("aten.rot90")
def quarter_turns(call: Call) -> Iterable[Lifted]:
    shape, ranks = call.shape(), call.shape(0)
    first, second = (int(d) % len(shape) for d in call.args["dims"])
    turns = int(call.args["k"]) % 4
    axes: list[Axis] = list(_access.identity(len(shape)))
    back = (Along(first, shape[first] - 1, -1), Along(second, shape[second] - 1, -1))
    if turns == 1:
        axes[first], axes[second] = Along(second), Along(first, shape[second] - 1, -1)
    elif turns == 2:
        axes[first], axes[second] = back
    elif turns == 3:
        axes[first], axes[second] = Along(second, shape[first] - 1, -1), Along(first)
    yield call.moved(ranks, tuple(axes))


@rule("aten.stack")
def stack(call: Call) -> Iterable[Lifted]:
    ranks = call.shape(0)
    dim = call.dim(rank=len(ranks))
    axes = tuple(Along(d if d < dim else d + 1) for d in range(len(ranks) - 1))
    operands = [
        call.operand(tensor, axes, within=_span(ranks, dim, index, 1))
        for index, tensor in enumerate(call.tensors())
    ]
    yield _gathered(call, ranks, operands)


@rule("aten.constant_pad_nd", "aten.pad")
def pad(call: Call) -> Iterable[Lifted]:
    """A constant around the tensor; negative padding crops."""
    if call.args.get("mode", "constant") != "constant":
        raise MissingRule("padding mode")
    shape, ranks = call.shape(), call.shape(0)
    widths = list(call.args["pad"])
    axes: list[Axis] = list(_access.identity(len(shape)))
    inside: list[_sets.IndexSet] = [range(n) for n in ranks]
    for position in range(len(widths) // 2):
        dim, before = len(shape) - 1 - position, widths[2 * position]
        axes[dim] = Along(dim, -before)
        inside[dim] = range(max(before, 0), min(before + shape[dim], ranks[dim]))
    box = _region.make_box(inside, [], ranks)
    value = constant_pin(float(call.args.get("value") or 0.0))
    operands = () if box is None else (call.operand("self", tuple(axes), within=box),)
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, operands,
        pin=None if value is None else _pins.of_box(value, box), ops=0,
    )  # fmt: skip


@rule(
    "aten.reflection_pad1d", "aten.reflection_pad2d", "aten.reflection_pad3d",
    "aten.replication_pad1d", "aten.replication_pad2d", "aten.replication_pad3d",
)  # fmt: skip
def mirror_pad(call: Call) -> Iterable[Lifted]:
    shape, ranks, widths = call.shape(), call.shape(0), call.args["padding"]
    axes: list[Axis] = list(_access.identity(len(shape)))
    mode = "reflect" if "reflection" in call.node.op else "edge"
    for position in range(len(widths) // 2):
        dim = len(shape) - 1 - position
        before, after = widths[2 * position : 2 * position + 2]
        line = np.pad(np.arange(shape[dim]), (max(before, 0), max(after, 0)), mode=mode)  # type: ignore[call-overload]
        line = line[max(-before, 0) : len(line) - max(-after, 0)]
        axes[dim] = Table(dim, line)
    yield call.moved(ranks, tuple(axes))


@rule("aten.pixel_shuffle", "aten.pixel_unshuffle")
def pixel_shuffle(call: Call) -> Iterable[Lifted]:
    """Channels to space and back: split, permute, merge."""
    up = "unshuffle" not in call.node.op
    factor = int(call.args["upscale_factor" if up else "downscale_factor"])
    small = call.shape() if up else call.shape(0)
    *lead, channels, height, width = small
    deep = channels // factor**2
    split = (*lead, deep, factor, factor, height, width)
    count = len(lead)
    order = [*range(count + 1), count + 3, count + 1, count + 4, count + 2]
    merged = tuple(split[d] for d in order)
    dtype = call.value("self").dtype
    first = call.temporary(split if up else merged, dtype)
    second = call.temporary(merged if up else split, dtype)
    places = [order.index(d) for d in range(len(order))] if up else order
    yield Reshape(first, call.id("self"))
    ranks = call.values[second].shape
    yield call.moved(ranks, tuple(Along(p) for p in places), first, out=second)
    yield Reshape(call.outputs[0], second)


@rule("aten.channel_shuffle", "aten.native_channel_shuffle")
def channel_shuffle(call: Call) -> Iterable[Lifted]:
    shape, groups = call.shape(), int(call.args["groups"])
    table = np.arange(shape[1]).reshape(groups, -1).T.reshape(-1)
    yield call.moved(shape, _at(len(shape), 1, Table(1, table)))
