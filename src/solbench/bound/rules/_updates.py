"""What rules of updates share: a part of a tensor is replaced or added to, the rest is the old value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from solbench.bound import _access, _region, _sets
from solbench.bound._lifted import Map, Operand, Pin, PinRule, SummedByIndex
from solbench.bound._pins import Pins
from solbench.bound._region import Box, Shape
from solbench.bound._sets import Indices
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call


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


def summing(update: Map, summed: SummedByIndex | None) -> Map:
    """An update that adds slices at known places: what nothing is added to keeps its old constant."""
    if summed is None:
        return update
    return replace(update, summed=summed, pin=_update_pin(update.updates, update.ranks, False))


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


def inverse(table: Indices, size: int) -> Indices:
    """Position written → which source index wrote it (the last one); 0 where none did."""
    result = np.zeros(size, dtype=np.int64)
    result[table] = np.arange(len(table))
    return result


def along_dim(shape: Shape, dim: int, indices: _sets.IndexSet) -> Box | None:
    sets = [indices if d == dim else range(n) for d, n in enumerate(shape)]
    return _region.make_box(sets, [], shape)


def index_read(call: Call, argument: str | Ref, written: Box | None) -> Operand:
    return call.operand(
        argument, tuple(_access.Whole() for _ in call.shape(argument)), within=written
    )
