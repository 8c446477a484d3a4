"""Updates along one dimension at known or unknown indices: the rest is the old value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from solbench.bound import _access, _pins, _region, _sets
from solbench.bound._access import Along, Axes, Axis, Fixed, Table
from solbench.bound._lifted import Lifted, Map, Operand, Reshape, SummedByIndex
from solbench.bound._region import Box, Shape
from solbench.bound._sets import DENSE_LIMIT, Indices
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, rule
from solbench.bound.rules._updates import along_dim, index_read, inverse, summing, updated
from solbench.bound.rules.indexing import distinct_in_line, known_indices

LISTED_ELEMENTS = 1 << 22
"""Largest tensor into which elements are scattered one by one; of larger ones the positions are known, but for
what is written there the least possible is read."""


@rule("aten.index_copy", "aten.index_fill", "aten.index_add", "aten.index_reduce")
def along_index(call: Call) -> Iterable[Lifted]:
    """Slices along one dimension, at given indices."""
    shape, dim = call.shape(), call.dim()
    table = known_indices(call, "index", shape[dim])
    accumulate = "index_add" in call.node.op or "index_reduce" in call.node.op
    indices = range(1) if table is None else _sets.from_indices(table)
    written = along_dim(shape, dim, indices)
    sources = [index_read(call, "index", written)]
    if call.has("value"):
        sources.append(call.operand("value", (), within=written))
    if call.has("source"):
        axes: list[Axis] = list(_access.identity(len(shape)))
        if table is None:
            axes[dim] = Fixed()
        else:
            axes[dim] = Table(dim, inverse(table.reshape(-1), shape[dim]))
        sources.insert(0, call.operand("source", tuple(axes), within=written))
    added = "source" if accumulate else None
    summed = (
        SummedByIndex(1, dim, table.reshape(-1))
        if "index_add" in call.node.op and table is not None
        else None
    )
    yield from _accumulated(
        call, written, sources, added, bool(call.args.get("include_self", True)), summed
    )


def _accumulated(
    call: Call,
    written: Box | None,
    sources: list[Operand],
    added: str | Ref | None,
    keeps_old: bool = True,
    summed: SummedByIndex | None = None,
) -> Iterable[Lifted]:
    """An update; where sources are summed, all of them are needed, also those that collide."""
    if added is None:
        yield updated(call, written, sources, data_first=call.has("source"))
        return
    whole = call.operand(added, tuple(_access.Whole() for _ in call.shape(added)), within=written)
    rest = [s for s in sources if s.value != whole.value]
    yield summing(updated(call, written, [whole, *rest], accumulate=keeps_old), summed)


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
    keeps_old = accumulate and bool(call.args.get("include_self", True))
    different = distinct_in_line(call, "index") if dim == len(where) - 1 else 1
    least = min(different, where[dim], shape[dim]) if shape else 1
    written = _scatter_box(shape, dim, table, where, least)
    limited = tuple(_access.Whole() for _ in where)
    sources = [call.operand("index", limited, within=written)]
    if call.has("src"):
        if accumulate:
            part: Axes = tuple(_access.Whole() for _ in call.shape("src"))
        else:
            one = least < where[dim]  # else each of them is written somewhere
            part = tuple(Fixed() if d == dim and one else Along(d) for d in range(len(shape)))
        sources.insert(0, call.operand("src", part, within=written))
    update = updated(
        call, written, sources, accumulate=keeps_old, data_first=call.has("src") and not accumulate
    )
    if "scatter_add" in call.node.op and shape and table is not None:
        update = summing(update, _summed_slices(call, dim, table))
    yield update


def _summed_slices(call: Call, dim: int, table: Indices) -> SummedByIndex | None:
    """The index of ``scatter_add`` where it is the same for all elements of a slice."""
    shape, source = call.shape(), call.shape("src")
    lines = np.moveaxis(table, dim, 0).reshape(table.shape[dim], -1)
    whole = all(d == dim or n == shape[d] for d, n in enumerate(source)) and source == table.shape
    if not whole or not lines.size or not (lines == lines[:, :1]).all():
        return None
    return SummedByIndex(1, dim, lines[:, 0])


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
    reads.append(index_read(call, "index", written))
    yield updated(call, written, reads, base=flat, out=result)
    yield Reshape(call.outputs[0], result)


def _flat(places: Sequence[Indices], shape: Shape) -> Indices:
    """Flat positions of broadcast index arrays."""
    total = np.zeros([1] * len(shape), dtype=np.int64)
    for place, size in zip(places, shape, strict=True):
        total = total * size + place
    return total.reshape(-1)


def _scatter_box(
    shape: Shape, dim: int, table: Indices | None, where: Shape, least: int
) -> Box | None:
    """Positions written: all of them where the index is known and small, else the least possible."""
    sets: list[_sets.IndexSet] = [
        range(least) if d == dim else range(n) for d, n in enumerate(where)
    ]
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
    """Values taken in order where a mask is true; old ones elsewhere."""
    ranks = call.shape(0)
    identity = _access.identity(len(ranks))
    mask = call.operand("mask", _access.broadcast(call.shape("mask"), ranks))
    own = _access.broadcast(call.shape(), ranks)
    content = call.mask("mask")
    if content is None or call.value("source").numel > DENSE_LIMIT:
        source = call.operand("source", tuple(Fixed() for _ in call.shape("source")))
        yield Map(call.outputs[:1], (identity,), ranks, (call.operand("self", own), mask, source))
        return
    taken = content.bool().expand(ranks).cpu().numpy()
    written = _pins.box_of_mask(taken)
    line = call.temporary((call.value("source").numel,), call.value("source").dtype)
    spread = call.temporary((taken.size,), call.value("source").dtype)
    placed = call.temporary(ranks, call.value("source").dtype)
    yield Reshape(line, call.id("source"))
    order = np.maximum(np.cumsum(taken.reshape(-1), dtype=np.int64) - 1, 0)
    yield call.moved((taken.size,), (Table(0, order),), line, out=spread)
    yield Reshape(placed, spread)
    operands = (
        call.operand("self", own, outside=written),
        *(() if written is None else (call.operand(placed, identity, within=written),)),
        mask,
    )
    yield Map(call.outputs[:1], (identity,), ranks, operands)


@rule("aten.embedding_dense_backward")
def embedding_backward(call: Call) -> Iterable[Lifted]:
    """Rows of the gradient summed by index; those of the padding are left out."""
    shape, padding = call.shape(0), int(call.args["padding_idx"])
    table = known_indices(call, "indices", shape[0])
    if table is None:
        yield call.everything(ops=1)
        return
    dtype, table = call.value("grad_output").dtype, table.reshape(-1)
    kept = np.flatnonzero(table != padding)
    zero, all_rows = call.temporary(shape, dtype), call.temporary((len(table), *shape[1:]), dtype)
    rows = call.temporary((len(kept), *shape[1:]), dtype)
    yield replace(call.created(out=zero), pin=_pins.of_box(0.0, None))
    yield Reshape(all_rows, call.id("grad_output"))
    yield call.moved((len(kept), *shape[1:]), (Table(0, kept), Along(1)), all_rows, out=rows)
    table = table[kept]
    written = along_dim(shape, 0, _sets.from_indices(table))
    sources = [
        call.operand(rows, tuple(_access.Whole() for _ in range(len(shape))), within=written)
    ]
    sources.append(index_read(call, "indices", written))
    update = updated(call, written, sources, accumulate=True, base=zero)
    yield summing(update, SummedByIndex(1, 0, table))
