"""Selections: factors of a network that only say which position goes where.

A convolution reads its input through windows, a pooling sums windows, a gather repeats rows, a padding puts
zeros around, ``index_add`` sums rows. Each is a tensor of zeros and constants between a tensor and what reads
it. Multiplying by it moves and adds, which is no matrix work, and may be done before or after a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from solbench.bound import _access, _sets
from solbench.bound._access import Along, Axis, Fixed, Table, Taps
from solbench.bound._lifted import Map, Operand, SummedByIndex
from solbench.bound._network_parts import NOTHING, Dim, along, picked
from solbench.bound._network_space import Space
from solbench.bound._region import Box, Joint, Shape
from solbench.bound._sets import Indices


@dataclass(frozen=True, slots=True)
class Read:
    """Dimensions of an operand by indices, and the indices of the selection that lies between (if any)."""

    dims: list[Dim]
    selection: list[int]


@dataclass(slots=True)
class _Selecting:
    item: Map
    ranks: Sequence[Dim]
    space: Space
    limits: dict[int, _sets.IndexSet]
    """Rank → positions at which the operand is read; zero elsewhere."""
    selection: list[int]

    def dim(self, axis: Axis, size: int) -> Dim | None:
        """One dimension of the operand."""
        axis = simple(axis, self.item.ranks, size)
        if isinstance(axis, Fixed):
            inside = range(axis.index, axis.index + 1)
            return replace(NOTHING, span=inside, exact=size == 1, start=axis.index)
        if isinstance(axis, Along) and axis.rank not in self.limits:
            return along(axis, self.ranks[axis.rank], size)
        if isinstance(axis, Table) and axis.rank not in self.limits:
            found = picked(axis.table, self.ranks[axis.rank], size, self.space)
            if found is None:
                found = self.tied(axis, size)
            if found is None and len(np.unique(axis.table)) == len(axis.table):
                found = Dim(self.ranks[axis.rank].atoms, exact=False, span=None)
            return found
        if isinstance(axis, Along | Table | Taps):
            return self.tied(axis, size)
        return None

    def tied(self, axis: Along | Table | Taps, size: int) -> Dim | None:
        """A new index for the positions that are read, tied to the ranks that read them."""
        first = spread(self.ranks[axis.rank], self.item.ranks[axis.rank], self.space)
        if first is None:
            return None
        if isinstance(axis, Taps):
            second = spread(self.ranks[axis.tap], self.item.ranks[axis.tap], self.space)
            if second is None:
                return None
            places = axis.table[first.positions][:, second.positions]
        else:
            second = Spread((), np.zeros((1, 0), np.int64), np.zeros(1, np.int64))
            line = _access.axis_table(axis, self.item.ranks[axis.rank])
            places = line[first.positions][:, None]
        inside = (places >= 0) & (places < size)
        if axis.rank in self.limits:
            allowed = _sets.to_mask(self.limits[axis.rank], self.item.ranks[axis.rank])
            inside &= allowed[first.positions][:, None]
        row, column = np.nonzero(inside)
        atom = self.space.new(size)
        atoms = (*first.atoms, *second.atoms, atom)
        rows = [first.values[row], second.values[column], places[row, column][:, None]]
        self.space.relate(atoms, np.concatenate(rows, axis=1))
        self.selection += atoms
        return Dim((atom,), exact=True, span=range(size), start=0)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """All positions of a dimension with the values of its indices."""

    atoms: tuple[int, ...]
    values: Indices
    """(position, index) → value."""
    positions: Indices


def spread(dim: Dim, size: int, space: Space) -> Spread | None:
    """Every value of the indices of a dimension, and the position that it stands for."""
    start = 0 if dim.exact or (not dim.atoms and size == 1) else dim.start
    if start is None:
        return None
    atoms = tuple(space.resolve(dim.atoms))
    columns = [space.needed(a) for a in atoms]
    if any(c is None for c in columns):
        return None
    grid = np.meshgrid(*(c for c in columns if c is not None), indexing="ij")
    values = (
        np.stack([g.reshape(-1) for g in grid], axis=1) if atoms else np.zeros((1, 0), np.int64)
    )
    flat = np.zeros(len(values), dtype=np.int64)
    for column, atom in enumerate(atoms):
        flat = flat * space.sizes[atom] + values[:, column]
    return Spread(atoms, values, start + dim.step * flat)


def read(
    operand: Operand, item: Map, ranks: Sequence[Dim], shape: Shape, space: Space
) -> Read | None:
    """How a map reads an operand; ``None`` where that is not followed."""
    limits = _limits(operand.within, item)
    if limits is None or operand.outside is not None:
        return None
    selecting = _Selecting(item, ranks, space, limits, [])
    dims = []
    for axis, size in zip(operand.axes, shape, strict=True):
        found = selecting.dim(axis, size)
        if found is None:
            return None
        dims.append(found)
    return Read(dims, selecting.selection)


def summed_by_index(
    summed: SummedByIndex, ranks: Sequence[Dim], shape: Shape, space: Space
) -> Read | None:
    """What is summed by index: a new index for its slices, tied to the slices that they are added to."""
    target = spread(ranks[summed.dim], 0, space)
    if target is None:
        return None
    lines = np.full(
        max(int(summed.table.max(initial=0)), int(target.positions.max(initial=0))) + 1, -1
    )
    lines[target.positions] = np.arange(len(target.positions))
    found = lines[summed.table]
    slices = np.flatnonzero(found >= 0)
    size = shape[summed.dim]
    atom = space.new(size)
    atoms = (*target.atoms, atom)
    space.relate(atoms, np.concatenate([target.values[found[slices]], slices[:, None]], axis=1))
    dims = list(ranks)
    dims[summed.dim] = Dim((atom,), exact=True, span=range(size), start=0)
    return Read(dims, list(atoms))


def simple(axis: Axis, ranks: Shape, size: int) -> Axis:
    """The same positions as an axis of the simplest kind."""
    if isinstance(axis, Taps) and ranks[axis.tap] == 1:
        table = axis.table[:, 0]
        return axis if bool((table < 0).any()) else simple(Table(axis.rank, table), ranks, size)
    if isinstance(axis, Taps) and ranks[axis.rank] == 1:
        table = axis.table[0]
        return axis if bool((table < 0).any()) else simple(Table(axis.tap, table), ranks, size)
    if isinstance(axis, Table) and len(axis.table):
        start = int(axis.table[0])
        step = int(axis.table[1]) - start if len(axis.table) > 1 else 1
        if step > 0 and np.array_equal(axis.table, start + step * np.arange(len(axis.table))):
            return Along(axis.rank, start, step)
    return axis


def _limits(box: Box | None, item: Map) -> dict[int, _sets.IndexSet] | None:
    """Ranks along which an operand is read in part; ``None`` where ranks hang together."""
    if box is None:
        return {}
    if not all(_implied(j, item) for j in box.joints):
        return None
    return {r: s for r, s in enumerate(box.sets) if len(s) != item.ranks[r]}


def _implied(joint: Joint, item: Map) -> bool:
    """Whether a mask says no more than that taps lie inside the tensor that a window reads."""
    for operand in item.operands:
        for axis in operand.axes:
            if isinstance(axis, Taps) and set(joint.dims) == {axis.rank, axis.tap}:
                mask = joint.dense() if joint.dims[0] == axis.rank else joint.dense().T
                if mask.shape == axis.table.shape and np.array_equal(mask, axis.table >= 0):
                    return True
    return False
