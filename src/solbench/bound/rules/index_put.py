"""Writes at the points that index tensors name together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from solbench.bound import _access, _pins, _region, _sets
from solbench.bound._access import Along, Axes, Fixed, Table
from solbench.bound._lifted import Lifted, Map, Operand, Reshape, SummedByIndex
from solbench.bound._region import Box, Shape
from solbench.bound._sets import DENSE_LIMIT, Indices
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules._updates import along_dim, index_read, inverse, summing, updated
from solbench.bound.rules.indexing import known_indices

FLAT_LIMIT = 1 << 24
"""Most positions that are listed one by one."""


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
    reads = [index_read(call, i, written) for _, i in given]
    if accumulate and len(given) == 1 and tables[0] is not None:
        yield from _put_summed(call, given[0][0], tables[0], written, reads)
        return
    if accumulate or axes is None:
        values = call.shape("values")
        whole: Axes = tuple(_access.Whole() for _ in values)
        if not accumulate:
            whole = tuple(Fixed() for _ in values)  # the least possible
        source = call.operand("values", whole, within=written)
    else:
        source = call.operand("values", axes, within=written)
    yield updated(call, written, [source, *reads], accumulate=accumulate)


def _put_summed(
    call: Call, dim: int, table: Indices, written: Box | None, reads: Sequence[Operand]
) -> Iterable[Lifted]:
    """Slices added at known places along one dimension."""
    shape, values = call.shape(), call.shape("values")
    source, summed = call.id("values"), None
    if values == (*shape[:dim], *table.shape, *shape[dim + 1 :]):
        source = call.temporary(
            (*shape[:dim], table.size, *shape[dim + 1 :]), call.value("values").dtype
        )
        summed = SummedByIndex(1, dim, table.reshape(-1))
        yield Reshape(source, call.id("values"))
    whole = tuple(_access.Whole() for _ in call.values[source].shape)
    operands = [call.operand(source, whole, within=written), *reads]
    yield summing(updated(call, written, operands, accumulate=True), summed)


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
    written = along_dim(ranks, first, _sets.from_indices(table))
    source = call.operand(parts, tuple(axes), within=written)
    reads = [index_read(call, i, written) for _, i in given]
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
        axes[place] = Table(dim, inverse(table, shape[dim]))
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
