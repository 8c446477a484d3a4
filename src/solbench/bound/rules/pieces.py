"""Tensors put together from pieces, or set into a border."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solbench.bound import _access, _pins, _region, _sets
from solbench.bound._access import Along, Axis, Table
from solbench.bound._lifted import Lifted, Map, Operand, Reshape
from solbench.bound.rules._base import Call, MissingRule, rule
from solbench.bound.rules.elementwise import constant_pin
from solbench.bound.rules.views import at


@rule("aten.cat", "aten.concat", "aten.concatenate")
def concatenate(call: Call) -> Iterable[Lifted]:
    ranks = call.shape(0)
    dim, start = call.dim(rank=len(ranks)), 0
    operands = []
    for tensor in call.tensors():
        shape = call.shape(tensor)
        if len(shape) != len(ranks) or shape[dim] == 0:
            continue  # torch lets empty tensors of any shape through
        axes = at(len(ranks), dim, Along(dim, -start))
        operands.append(call.operand(tensor, axes, within=_span(ranks, dim, start, shape[dim])))
        start += shape[dim]
    if (
        len(operands) > 1
        and len({(o.value, len(call.values[o.value].shape)) for o in operands}) == 1
    ):
        size = call.values[operands[0].value].shape[dim]
        again = at(len(ranks), dim, Table(dim, np.arange(ranks[dim]) % size))
        yield call.moved(ranks, again, operands[0].value)
        return
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


@rule("aten.stack")
def stack(call: Call) -> Iterable[Lifted]:
    ranks = call.shape(0)
    dim = call.dim(rank=len(ranks))
    axes = tuple(Along(d if d < dim else d + 1) for d in range(len(ranks) - 1))
    operands = [
        call.operand(tensor, axes, within=_span(ranks, dim, index, 1))
        for index, tensor in enumerate(call.tensors())
    ]
    if len({o.value for o in operands}) == 1:  # one tensor again and again, as by expand
        yield call.moved(ranks, axes, operands[0].value)
        return
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
        linear=float(call.args.get("value") or 0.0) == 0.0,
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
