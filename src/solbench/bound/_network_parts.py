"""Steps of following a network of products back: which indices an operand has, and who reads a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

import numpy as np

from solbench.bound import _access, _reshape
from solbench.bound._access import Along, Fixed, Table, Taps
from solbench.bound._demand import Demanded, needed_space, read_region
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._region import Box, Region, Shape
from solbench.bound._sets import Indices

MAX_READERS = 64
"""Values with more readers than this are not looked into."""


class Splitter(Protocol):
    """What knows the sizes of indices and can split one."""

    sizes: dict[int, int]

    def split(self, atom: int, major: int) -> tuple[int, int] | None: ...

    def resolve(self, atoms: Iterable[int]) -> Iterator[int]: ...


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension of a tensor: the indices that its position depends on, major first."""

    atoms: tuple[int, ...]
    exact: bool
    """Whether the indices run over all positions in order."""
    span: range | None
    """Positions that are read, if they are known to be one interval."""
    start: int | None = None
    """Position where all indices are 0; ``None`` where positions do not follow from the indices alone."""
    step: int = 1
    """Positions from one value of the last index to the next."""


NOTHING = Dim((), exact=False, span=None)


@dataclass(frozen=True, slots=True)
class Reading:
    """A node that reads a value, or an output (no node)."""

    node: Map | Reshape | None
    operand: int = 0


def readings(lifted: LiftedGraph, found: Demanded) -> dict[int, list[Reading]]:
    """Who needs each value."""
    result: dict[int, list[Reading]] = {}
    for step in lifted.steps:
        item = step.lifted
        outs = item.outs if isinstance(item, Map) else (item.out,)
        if all(o not in found.need or found.need[o].is_empty for o in outs):
            continue
        if isinstance(item, Reshape):
            result.setdefault(item.value, []).append(Reading(item))
            continue
        for index, operand in enumerate(item.operands):
            result.setdefault(operand.value, []).append(Reading(item, index))
    for _, value in lifted.graph.outputs:
        result.setdefault(lifted.resolve(value), []).append(Reading(None))
    return result


def read_apart(given: Sequence[Reading], found: Demanded, lifted: LiftedGraph) -> bool:
    """Whether several nodes read parts of a value that do not overlap."""
    if not 1 < len(given) <= MAX_READERS:
        return False
    total, whole = 0, None
    for reading in given:
        node = reading.node
        if not isinstance(node, Map):
            return False
        operand = node.operands[reading.operand]
        space = needed_space(node, found, lifted)
        part = read_region(operand, space, lifted.values[operand.value].shape)
        total += part.count()
        whole = found.need[operand.value]
    return whole is not None and total <= whole.count()


def partial_ranks(region: Region) -> frozenset[int]:
    """Ranks along which the region is not simply everything."""
    if region.is_full:
        return frozenset()
    if len(region.boxes) != 1:
        return frozenset(range(len(region.shape)))
    (box,) = region.boxes
    cut = {r for r, s in enumerate(box.sets) if len(s) != region.shape[r]}
    return frozenset(cut | {d for j in box.joints for d in j.dims})


def is_followed(item: Map) -> bool:
    """Whether operands and result are read and written rank by rank, or through windows and tables."""
    kinds = (Fixed, Along, Table, Taps)
    return (
        len(item.outs) == 1
        and all(o.outside is None for o in item.operands)
        and all(isinstance(a, kinds) for o in item.operands for a in o.axes)
        and all(isinstance(a, Fixed | Along) for a in item.out_axes[0])
    )


def is_gather(item: Map) -> bool:
    """Slices of operand 0 picked by known indices."""
    kinds = (Along, Table)
    return (
        item.flavour == "picked"
        and item.pin is not None
        and all(isinstance(a, kinds) for a in item.operands[0].axes)
        and item.operands[0].within is None
    )


def summed(item: Map, rank: int) -> bool:
    return not any(isinstance(a, Along) and a.rank == rank for a in item.out_axes[0])


def only_moves(item: Map) -> bool:
    """Whether no operand multiplies or is added to another: elements of one are moved, repeated or summed."""
    return len(item.operands) == 1 or item.summed is not None or is_gather(item)


def is_sum(item: Map) -> bool:
    """A sum or mean over some ranks of one operand."""
    return (
        item.linear
        and len(item.operands) == 1
        and not item.coupled
        and any(n != 1 and summed(item, r) for r, n in enumerate(item.ranks))
    )


def is_zero(value: int, lifted: LiftedGraph) -> bool:
    """Whether a value is known to be zero everywhere."""
    pin = lifted.facts[value].pin
    return pin is not None and pin.value == 0 and pin.free is None


def is_addition(item: Map) -> bool:
    """Two operands added, position by position."""
    return item.linear and item.ops > 0 and item.flavour in ("offset", "computed")


def multiplies(item: Map, lifted: LiftedGraph) -> bool:
    """Whether both operands are factors: a division is by one number only."""
    return all(lifted.values[o.value].dtype.is_floating_point for o in item.operands)


def ranks_of(maker: Map, dims: Sequence[Dim]) -> list[Dim] | None:
    """Indices of the ranks of the node that makes a value; empty for ranks that it sums."""
    if len(maker.outs) != 1 or maker.coupled or maker.gate is not None:
        return None
    ranks = [NOTHING] * len(maker.ranks)
    for axis, dim in zip(maker.out_axes[0], dims, strict=True):
        if isinstance(axis, Along) and axis.identity:
            ranks[axis.rank] = dim
        elif not isinstance(axis, Fixed):
            return None
    return ranks


def along(axis: Along, dim: Dim, size: int) -> Dim:
    """A dimension read at ``start + step * rank``."""
    span, start = None, None
    if dim.span is not None and axis.step == 1:
        span = range(dim.span.start + axis.start, dim.span.stop + axis.start)
    exact = dim.exact and axis.step == 1 and span == range(size)
    if dim.start is not None:
        start = axis.start + axis.step * dim.start
    return Dim(dim.atoms, exact, span, start, axis.step * dim.step)


def picked(table: Indices, dim: Dim, size: int, space: Splitter) -> Dim | None:
    """A dimension read by a table of repeated elements or tensors."""
    count = len(table)
    if dim.exact and size and count % size == 0 and count > size:
        places = np.arange(count)
        for table_form, sizes, own in (
            (places // (count // size), (size, count // size), 0),
            (places % size, (count // size, size), 1),
        ):
            if np.array_equal(table, table_form):
                parts = regrouped([dim], sizes, space)
                return None if parts is None else parts[own]
    return None


def through_reshape(
    dims: Sequence[Dim], shape: Shape, source: Shape, space: Splitter
) -> list[Dim] | None:
    """Dimensions before a change of shape."""
    result = [
        replace(NOTHING, exact=True, span=range(1), start=0) if n == 1 else NOTHING for n in source
    ]
    if 0 in shape:
        return None
    for mine, theirs in _reshape.groups(shape, source):
        if len(mine) == len(theirs) == 1:
            result[theirs[0]] = dims[mine[0]]
            continue
        parts = regrouped([dims[d] for d in mine], [source[d] for d in theirs], space)
        if parts is None:
            return None
        for dim, part in zip(theirs, parts, strict=True):
            result[dim] = part
    return result


def regrouped(dims: Sequence[Dim], sizes: Sequence[int], space: Splitter) -> list[Dim] | None:
    """The same positions as dimensions of other sizes; splits indices where it must."""
    if len(sizes) == 1:
        atoms = tuple(a for d in dims for a in d.atoms)
        exact = all(d.exact for d in dims)
        return [Dim(atoms, exact, range(sizes[0]) if exact else None, 0 if exact else None)]
    if not all(d.exact for d in dims):
        return None
    waiting = list(space.resolve([a for d in dims for a in d.atoms]))
    result = []
    for size in sizes:
        own: list[int] = []
        while (left := size // prod(space.sizes[a] for a in own)) > 1:
            if not waiting:
                return None
            atom = waiting.pop(0)
            if left % space.sizes[atom]:
                pair = space.split(atom, left) if space.sizes[atom] % left == 0 else None
                if pair is None:
                    return None
                atom, rest = pair
                waiting.insert(0, rest)
            own.append(atom)
        result.append(Dim(tuple(own), exact=True, span=range(size), start=0))
    return None if waiting else result


def only_operand(maker: Map, ranks: Sequence[Dim]) -> Operand | None:
    """The one operand that the positions read come from: a view, a cast, a piece of a concatenation.

    Limited to where it is read, if that is not everywhere.
    """
    if is_gather(maker):
        return maker.operands[0]
    if maker.flavour not in ("moved", "product", "computed"):
        return None
    chosen = []
    for operand in maker.operands:
        inside = _lies_in(operand, ranks, maker.ranks)
        if inside is None and len(maker.operands) == 1 and maker.linear:
            return operand  # some of it, zeros elsewhere
        if inside is None:
            return None
        if inside:
            chosen.append(replace(operand, within=None, outside=None))
    return chosen[0] if len(chosen) == 1 else None


def _lies_in(operand: Operand, ranks: Sequence[Dim], sizes: Shape) -> bool | None:
    """Whether an operand gives all positions read, or none; ``None`` if it gives some."""
    for box, positive in ((operand.within, True), (operand.outside, False)):
        if box is None:
            continue
        inside = _within(box, ranks, sizes)
        if inside is None:
            return None
        if inside is not positive:
            return False
    return True


def _within(box: Box, ranks: Sequence[Dim], sizes: Shape) -> bool | None:
    if box.joints:
        return None
    all_inside = True
    for rank, indices in enumerate(box.sets):
        if len(indices) == sizes[rank]:
            continue
        span = ranks[rank].span
        if span is None or not isinstance(indices, range) or indices.step != 1:
            return None
        if span.stop <= indices.start or indices.stop <= span.start:
            return False
        all_inside &= indices.start <= span.start and span.stop <= indices.stop
    return True if all_inside else None


def cuts(value: int, dim: int, lifted: LiftedGraph) -> set[int]:
    """Where a dimension passes from one piece of a concatenation to the next, seen through views."""
    shift = 0
    while (maker := lifted.maker.get(value)) is not None:
        if isinstance(maker, Reshape):
            shapes = lifted.values[value].shape, lifted.values[maker.value].shape
            alone = [t[0] for m, t in _reshape.groups(*shapes) if list(m) == [dim] and len(t) == 1]
            if not alone:
                break
            value, dim = maker.value, alone[0]
            continue
        if len(maker.outs) != 1:
            break
        if maker.out_axes[0] != _access.identity(len(maker.ranks)):
            break
        ends = {
            end + shift
            for o in maker.operands
            for box in (o.within, o.outside)
            if box is not None and not box.joints
            for part in (box.sets[dim],)
            if isinstance(part, range) and len(part) not in (0, maker.ranks[dim])
            for end in (part.start, part.stop)
        }
        if ends:
            return ends
        if len(maker.operands) != 1 or not maker.linear:
            break
        axes = maker.operands[0].axes
        places = [d for d, a in enumerate(axes) if isinstance(a, Along) and a.rank == dim]
        if len(places) != 1:
            break
        axis = axes[places[0]]
        if not isinstance(axis, Along) or axis.step != 1:
            break
        value, dim, shift = maker.operands[0].value, places[0], shift - axis.start
    return set()
