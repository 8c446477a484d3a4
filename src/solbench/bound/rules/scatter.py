"""Updates: part of a tensor is replaced or added to; the rest is the old value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from solbench.bound import _access, _pins, _region, _sets
from solbench.bound._access import Along, Axes, Axis, Fixed, Table
from solbench.bound._lifted import Lifted, Map, Operand, Pin, PinRule, Reshape
from solbench.bound._pins import Pins
from solbench.bound._region import Box, Shape
from solbench.bound._sets import DENSE_LIMIT, Indices
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules.indexing import known_indices
from solbench.bound.rules.views import slice_start

LISTED_ELEMENTS = 1 << 22
"""Largest tensor into which elements are scattered one by one; of larger ones the positions are known, but for
what is written there the least possible is read."""
FLAT_LIMIT = 1 << 24
"""Most positions that are listed one by one."""


def updated(
    call: Call,
    written: Box | None,
    sources: Sequence[Operand],
    *,
    accumulate: bool = False,
    data_first: bool = True,
    base: str | int = "self",
    out: int | None = None,
) -> Map:
    """``base`` with the positions of ``written`` replaced by (or combined with) the sources."""
    target = call.outputs[0] if out is None else out
    ranks = call.values[target].shape
    axes = _access.identity(len(ranks))
    if written is None:
        sources = ()
    old = call.operand(base, axes, outside=None if accumulate else written)
    return Map(
        (target,), (axes,), ranks, (old, *sources), flavour="computed" if accumulate else "moved",
        updates=written, pin=None if accumulate else _update_pin(written, ranks, data_first), ops=0,
    )  # fmt: skip


def _update_pin(written: Box | None, ranks: Shape, data_first: bool) -> PinRule | None:
    """Where the result is constant: old constants outside what was written, a constant source inside.

    ``data_first``: the first source is what is written, not an index.
    """
    if written is None:
        return lambda pins: pins[0]
    rest = _region.full(ranks).subtract(written)
    if len(rest.boxes) > 1:
        rest = _region.full(ranks)
    outside = rest.boxes[0] if rest.boxes else None

    def combine(pins: Pins) -> Pin | None:
        old, new = pins[0], pins[1] if data_first and len(pins) > 1 else None
        if new is not None and new.free is None and not rest.is_full:
            if outside is None or old is None or old.value != new.value:
                return Pin(new.value, outside)
            left = None if old.free is None else _region.intersect_boxes(old.free, outside, ranks)
            return Pin(new.value, left)
        if old is not None and old.free is None and not written.joints:
            return Pin(old.value, written)
        return None

    return combine


def _inverse(table: Indices, size: int) -> Indices:
    """Position written → which source index wrote it (the last one); 0 where none did."""
    result = np.zeros(size, dtype=np.int64)
    result[table] = np.arange(len(table))
    return result


def _along_dim(shape: Shape, dim: int, indices: _sets.IndexSet) -> Box | None:
    sets = [indices if d == dim else range(n) for d, n in enumerate(shape)]
    return _region.make_box(sets, [], shape)


@rule("aten.slice_scatter")
def slice_scatter(call: Call) -> Iterable[Lifted]:
    shape, dim = call.shape(), call.dim()
    step, length = int(call.args.get("step", 1)), call.shape("src")[dim]
    start = slice_start(shape[dim], call.args.get("start"), step)
    written = _along_dim(shape, dim, _sets.from_range(start, start + step * length, step))
    axes: list[Axis] = list(_access.identity(len(shape)))
    if step == 1:
        axes[dim] = Along(dim, -start)
    elif shape[dim] <= FLAT_LIMIT:
        axes[dim] = Table(dim, _inverse(start + step * np.arange(length), shape[dim]))
    else:
        axes[dim] = Fixed()  # the least that is read
    sources = () if written is None else (call.operand("src", tuple(axes), within=written),)
    yield updated(call, written, sources)


@rule("aten.select_scatter")
def select_scatter(call: Call) -> Iterable[Lifted]:
    shape, dim = call.shape(), call.dim()
    index = int(call.args["index"]) % shape[dim]
    written = _along_dim(shape, dim, range(index, index + 1))
    axes = tuple(Along(d if d < dim else d + 1) for d in range(len(shape) - 1))
    yield updated(call, written, (call.operand("src", axes, within=written),))


@rule("aten.diagonal_scatter")
def diagonal_scatter(call: Call) -> Iterable[Lifted]:
    shape = call.shape()
    first, second = (int(call.args[a]) % len(shape) for a in ("dim1", "dim2"))
    offset = int(call.args["offset"])
    mask = np.eye(shape[first], shape[second], offset, dtype=np.bool_)
    written = _region.make_box(
        [range(n) for n in shape], [_region.Joint((first, second), mask)], shape
    )
    rest = [d for d in range(len(shape)) if d not in (first, second)]
    along = Along(first, min(0, offset))
    axes = (*(Along(d) for d in rest), along)
    yield updated(call, written, (call.operand("src", axes, within=written),))


@rule("aten.index_copy", "aten.index_fill", "aten.index_add", "aten.index_reduce")
def along_index(call: Call) -> Iterable[Lifted]:
    """Slices along one dimension, at given indices."""
    shape, dim = call.shape(), call.dim()
    table = known_indices(call, "index", shape[dim])
    accumulate = "index_add" in call.node.op or "index_reduce" in call.node.op
    indices = range(1) if table is None else _sets.from_indices(table)
    written = _along_dim(shape, dim, indices)
    sources = [_index_read(call, "index", written)]
    if call.has("value"):
        sources.append(call.operand("value", (), within=written))
    if call.has("source"):
        axes: list[Axis] = list(_access.identity(len(shape)))
        if table is None:
            axes[dim] = Fixed()
        else:
            axes[dim] = Table(dim, _inverse(table.reshape(-1), shape[dim]))
        sources.insert(0, call.operand("source", tuple(axes), within=written))
    added = "source" if accumulate else None
    yield from _accumulated(
        call, written, sources, added, bool(call.args.get("include_self", True))
    )


def _index_read(call: Call, argument: str | Ref, written: Box | None) -> Operand:
    return call.operand(
        argument, tuple(_access.Whole() for _ in call.shape(argument)), within=written
    )


def _accumulated(
    call: Call,
    written: Box | None,
    sources: list[Operand],
    added: str | Ref | None,
    keeps_old: bool = True,
) -> Iterable[Lifted]:
    """An update; where sources are summed, all of them are needed, also those that collide."""
    if added is None:
        yield updated(call, written, sources, data_first=call.has("source"))
        return
    whole = call.operand(added, tuple(_access.Whole() for _ in call.shape(added)), within=written)
    rest = [s for s in sources if s.value != whole.value]
    yield updated(call, written, [whole, *rest], accumulate=keeps_old)


@rule("aten.index_put", "aten._unsafe_index_put", "aten._index_put_impl")
def index_put(call: Call) -> Iterable[Lifted]:
    """``self[indices] = values``, on the dimensions that have an index tensor."""
    shape = call.shape()
    given = [(d, i) for d, i in enumerate(call.args["indices"]) if isinstance(i, Ref)]
    if any(call.value(i).dtype.itemsize == 1 for _, i in given):
        yield from _put_by_mask(call, given)
        return
    accumulate = bool(call.args.get("accumulate"))
    tables = [known_indices(call, i, shape[d]) for d, i in given]
    joint = not accumulate and (len(given) > 1 or len(call.shape(given[0][1])) > 1)
    if joint and all(t is not None for t in tables):
        merged = list(_put_joint(call, given, [t for t in tables if t is not None]))
        if merged:
            yield from merged
            return
    written, axes = _put_places(call, given, shape)
    reads = [_index_read(call, i, written) for _, i in given]
    if accumulate or axes is None:
        values = call.shape("values")
        whole: Axes = tuple(_access.Whole() for _ in values)
        if not accumulate:
            whole = tuple(Fixed() for _ in values)  # the least possible
        source = call.operand("values", whole, within=written)
    else:
        source = call.operand("values", axes, within=written)
    yield updated(call, written, [source, *reads], accumulate=accumulate)


def _put_joint(
    call: Call, given: Sequence[tuple[int, Ref]], tables: Sequence[Indices]
) -> Iterable[Lifted]:
    """Neighbouring dimensions indexed together: merged into one. Nothing for forms that this does not cover."""
    shape, first, count = call.shape(), given[0][0], len(given)
    sizes = shape[first : first + count]
    merged = int(np.prod(sizes, dtype=np.int64))
    if [d for d, _ in given] != list(range(first, first + count)) or merged > FLAT_LIMIT:
        return
    points = np.broadcast_shapes(*[t.shape for t in tables])
    table = np.ravel_multi_index(tuple(np.broadcast_arrays(*tables)), sizes).reshape(-1)
    tail = shape[first + count :]
    values = (1,) * (len(shape) - count + len(points) - len(call.shape("values")))
    values += call.shape("values")
    lead, own = values[:first], values[first : first + len(points)]
    rest = values[first + len(points) :]
    ranks = (*shape[:first], merged, *tail)
    total = int(np.prod(own, dtype=np.int64))
    read = np.zeros(merged, dtype=np.int64)
    read[table] = np.broadcast_to(np.arange(total).reshape(own), points).reshape(-1)
    flat, result = (call.temporary(ranks, call.value("self").dtype) for _ in range(2))
    parts = call.temporary((*lead, total, *rest), call.value("values").dtype)
    yield Reshape(flat, call.id("self"))
    yield Reshape(parts, call.id("values"))
    axes = list(_access.broadcast((*lead, 1, *rest), ranks))
    axes[first] = Table(first, read)
    written = _along_dim(ranks, first, _sets.from_indices(table))
    source = call.operand(parts, tuple(axes), within=written)
    reads = [_index_read(call, i, written) for _, i in given]
    yield updated(call, written, [source, *reads], base=flat, out=result)
    yield Reshape(call.outputs[0], result)


def _put_places(
    call: Call, given: Sequence[tuple[int, Ref]], shape: Shape
) -> tuple[Box | None, Axes | None]:
    """Box of written positions, and for one index tensor where the values are read."""
    tables = [known_indices(call, i, shape[d]) for d, i in given]
    dims = [d for d, _ in given]
    known = [t for t in tables if t is not None]
    sets: list[_sets.IndexSet] = [range(n) for n in shape]
    if len(known) < len(tables):
        for dim in dims:
            sets[dim] = range(1)
        return _region.make_box(sets, [], shape), None
    if len(known) == 1:
        sets[dims[0]] = _sets.from_indices(known[0])
        return _region.make_box(sets, [], shape), _value_axes(call, dims[0], known[0], shape)
    spread = [t.reshape(-1) for t in np.broadcast_arrays(*known)]
    for dim, table in zip(dims, spread, strict=True):
        sets[dim] = _sets.from_indices(table)
    if int(np.prod([shape[d] for d in dims])) > DENSE_LIMIT:
        keep = int(spread[0][0]) if len(spread[0]) else 0
        for dim in dims:
            sets[dim] = range(keep, keep + 1)
        return _region.make_box(sets, [], shape), None
    mask = np.zeros([shape[d] for d in dims], dtype=np.bool_)
    mask[tuple(spread)] = True
    return _region.make_box(sets, [_region.Joint(tuple(dims), mask)], shape), None


def _value_axes(call: Call, dim: int, table: Indices, shape: Shape) -> Axes | None:
    """Axes of the values of a one-dimensional index, over the positions of the result."""
    if table.ndim != 1:
        return None
    values = call.shape("values")
    ranks = (*shape[:dim], len(table), *shape[dim + 1 :])
    axes = list(_access.broadcast(values, ranks))
    place = dim - (len(ranks) - len(values))
    if 0 <= place < len(axes) and isinstance(axes[place], Along):
        axes[place] = Table(dim, _inverse(table, shape[dim]))
    return tuple(axes)


def _put_by_mask(call: Call, given: Sequence[tuple[int, Ref]]) -> Iterable[Lifted]:
    if len(given) != 1 or call.value("values").numel != 1:
        raise MissingRule("boolean index with values that vary")
    dim, where = given[0]
    content = call.known(where)
    values = call.operand("values", tuple(Fixed() for _ in call.shape("values")))
    axes = tuple(Along(dim + d) for d in range(len(call.shape(where))))
    if content is None:
        ranks = call.shape(0)
        identity = _access.identity(len(ranks))
        operands = (call.operand("self", identity), values, call.operand(where, axes))
        yield Map(call.outputs[:1], (identity,), ranks, operands)
        return
    box = _pins.box_of_mask(content.cpu().numpy().astype(np.bool_))
    written = None if box is None else _access.push(box, axes, call.shape(0))
    if written is None:
        yield updated(call, None, [])
    else:
        yield updated(call, written, [values, call.operand(where, axes)])


@rule("aten.scatter", "aten.scatter_add", "aten.scatter_reduce")
def scatter(call: Call) -> Iterable[Lifted]:
    """``self[index[i], j] = src[i, j]`` along one dimension, element by element."""
    shape = call.shape()
    dim = call.dim() if shape else 0
    where = call.shape("index")
    table = known_indices(call, "index", shape[dim] if shape else 1)
    accumulate = call.node.op.split(".")[1].rstrip("_") != "scatter" or "reduce" in call.args
    small = max(call.value("self").numel, math.prod(where)) <= LISTED_ELEMENTS
    if table is not None and call.has("src") and not accumulate and shape and small:
        yield from _scatter_known(call, dim, table)
        return
    accumulate = accumulate and bool(call.args.get("include_self", True))
    written = _scatter_box(shape, dim, table, where)
    limited = tuple(_access.Whole() for _ in where)
    sources = [call.operand("index", limited, within=written)]
    if call.has("src"):
        if accumulate:
            part: Axes = tuple(_access.Whole() for _ in call.shape("src"))
        else:
            part = tuple(Fixed() if d == dim else Along(d) for d in range(len(shape)))
        sources.insert(0, call.operand("src", part, within=written))
    yield updated(call, written, sources, accumulate=accumulate, data_first=call.has("src"))


def _scatter_known(call: Call, dim: int, table: Indices) -> Iterable[Lifted]:
    """Element by element, over flat positions; of elements that collide one is needed."""
    value, source = call.value("self"), call.value("src")
    places: list[Indices] = list(np.indices(table.shape, sparse=True))
    read = _flat(places, source.shape)
    places[dim] = table
    target = _flat(places, value.shape)
    order = np.zeros(value.numel, dtype=np.int64)
    order[target] = read
    flat, parts = (call.temporary((v.numel,), v.dtype) for v in (value, source))
    result = call.temporary((value.numel,), value.dtype)
    yield Reshape(flat, value.id)
    yield Reshape(parts, source.id)
    written = _region.make_box([_sets.from_indices(target)], [], (value.numel,))
    reads = [call.operand(parts, (Table(0, order),), within=written)]
    reads.append(_index_read(call, "index", written))
    yield updated(call, written, reads, base=flat, out=result)
    yield Reshape(call.outputs[0], result)


def _flat(places: Sequence[Indices], shape: Shape) -> Indices:
    """Flat positions of broadcast index arrays."""
    total = np.zeros([1] * len(shape), dtype=np.int64)
    for place, size in zip(places, shape, strict=True):
        total = total * size + place
    return total.reshape(-1)


def _scatter_box(shape: Shape, dim: int, table: Indices | None, where: Shape) -> Box | None:
    """Positions written: all of them where the index is known and small, else the least possible."""
    sets: list[_sets.IndexSet] = [range(1) if d == dim else range(n) for d, n in enumerate(where)]
    total = int(np.prod(shape, dtype=np.int64))
    if table is None or total > DENSE_LIMIT or table.size > DENSE_LIMIT:
        return _region.make_box(sets, [], shape)
    mask = np.zeros(shape, dtype=np.bool_)
    places = list(np.indices(where, sparse=True))
    if not places:
        return _region.full_box(shape)
    places[dim] = table
    mask[tuple(places)] = True
    return _pins.box_of_mask(mask)


@rule("aten.masked_scatter")
def masked_scatter(call: Call) -> Iterable[Lifted]:
    """Values taken in order where a mask is true."""
    identity = _access.identity(len(call.shape(0)))
    mask = call.operand("mask", _access.broadcast(call.shape("mask"), call.shape(0)))
    source = call.operand("source", tuple(Fixed() for _ in call.shape("source")))
    own = call.operand("self", _access.broadcast(call.shape(), call.shape(0)))
    operands = (own, mask, source)
    yield Map(call.outputs[:1], (identity,), call.shape(0), operands)


@rule("aten.as_strided_scatter")
def as_strided_scatter(call: Call) -> Iterable[Lifted]:
    """Through flat positions of a contiguous tensor."""
    value, source = call.value("self"), call.value("src")
    if source.numel > DENSE_LIMIT or value.numel > DENSE_LIMIT:
        raise MissingRule("as_strided_scatter of a large tensor")
    offset = int(call.args.get("storage_offset") or 0)
    table = np.zeros(1, dtype=np.int64) + offset
    for size, stride in zip(source.shape, call.args["stride"], strict=True):
        table = np.add.outer(table, np.arange(size) * stride)
    table = table.reshape(-1)
    flat, parts = (call.temporary((v.numel,), v.dtype) for v in (value, source))
    result = call.temporary((value.numel,), value.dtype)
    yield Reshape(flat, value.id)
    yield Reshape(parts, source.id)
    written = _region.make_box([_sets.from_indices(table)], [], (value.numel,))
    axes = (Table(0, _inverse(table, value.numel)),)
    yield updated(call, written, [call.operand(parts, axes, within=written)], base=flat, out=result)
    yield Reshape(call.outputs[0], result)


@rule("aten.select_backward", "aten.slice_backward")
def view_backward(call: Call) -> Iterable[Lifted]:
    """The gradient in its place, zeros elsewhere."""
    ranks = call.shape(0)
    dim = int(call.args["dim"]) % len(ranks)
    axes: tuple[Axis, ...]
    if "select" in call.node.op:
        index = int(call.args["index"]) % ranks[dim]
        indices: _sets.IndexSet = range(index, index + 1)
        axes = tuple(Along(d if d < dim else d + 1) for d in range(len(ranks) - 1))
    else:
        step, length = int(call.args["step"]), call.shape("grad_output")[dim]
        start = slice_start(ranks[dim], call.args.get("start"), step)
        table = start + step * np.arange(length)
        indices = _sets.from_sorted(table)
        own: Axis = Along(dim, -start) if step == 1 else Table(dim, _inverse(table, ranks[dim]))
        axes = tuple(own if d == dim else Along(d) for d in range(len(ranks)))
    written = _along_dim(ranks, dim, indices)
    operands = () if written is None else (call.operand("grad_output", axes, within=written),)
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, operands,
        pin=lambda pins: Pin(0.0, written), ops=0,
    )  # fmt: skip


@rule("aten.embedding_dense_backward")
def embedding_backward(call: Call) -> Iterable[Lifted]:
    """Rows of the gradient summed by index."""
    yield call.everything(ops=1)


@rule("aten.index_backward", "aten.gather_backward", "aten.diagonal_backward")
def other_backward(call: Call) -> Iterable[Lifted]:
    yield call.everything(ops=1)
