"""Writes through views, and gradients of views: a part is replaced, the rest is old, or zero."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solbench.bound import _access, _region, _sets
from solbench.bound._access import Along, Axis, Fixed, Table
from solbench.bound._lifted import Lifted, Map, Pin, Reshape
from solbench.bound._sets import DENSE_LIMIT
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules._updates import along_dim, inverse, updated
from solbench.bound.rules.views import slice_start

FLAT_LIMIT = 1 << 24
"""Most positions that are listed one by one."""


@rule("aten.slice_scatter")
def slice_scatter(call: Call) -> Iterable[Lifted]:
    shape, dim = call.shape(), call.dim()
    step, length = int(call.args.get("step", 1)), call.shape("src")[dim]
    start = slice_start(shape[dim], call.args.get("start"), step)
    written = along_dim(shape, dim, _sets.from_range(start, start + step * length, step))
    axes: list[Axis] = list(_access.identity(len(shape)))
    if step == 1:
        axes[dim] = Along(dim, -start)
    elif shape[dim] <= FLAT_LIMIT:
        axes[dim] = Table(dim, inverse(start + step * np.arange(length), shape[dim]))
    else:
        axes[dim] = Fixed()  # the least that is read
    sources = () if written is None else (call.operand("src", tuple(axes), within=written),)
    yield updated(call, written, sources)


@rule("aten.select_scatter")
def select_scatter(call: Call) -> Iterable[Lifted]:
    shape, dim = call.shape(), call.dim()
    index = int(call.args["index"]) % shape[dim]
    written = along_dim(shape, dim, range(index, index + 1))
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
    axes = (Table(0, inverse(table, value.numel)),)
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
        own: Axis = Along(dim, -start) if step == 1 else Table(dim, inverse(table, ranks[dim]))
        axes = tuple(own if d == dim else Along(d) for d in range(len(ranks)))
    written = along_dim(ranks, dim, indices)
    operands = () if written is None else (call.operand("grad_output", axes, within=written),)
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, operands,
        pin=lambda pins: Pin(0.0, written), ops=0,
    )  # fmt: skip


@rule("aten.index_backward", "aten.gather_backward", "aten.diagonal_backward")
def other_backward(call: Call) -> Iterable[Lifted]:
    yield call.everything(ops=1)
