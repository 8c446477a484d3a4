"""Which indices every dimension of a tensor runs over, followed back from a contraction through views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from solbench.bound import _access, _reshape
from solbench.bound._access import Along, Axes, Fixed, Table
from solbench.bound._lifted import Map
from solbench.bound._region import Shape

Atoms = frozenset[int]


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension of a tensor: the indices that its position depends on, major first."""

    atoms: tuple[int, ...]
    exact: bool
    """Whether the indices run over all positions in order."""
    placed: bool = False
    """Whether a position is that of the one rank of the contraction that it depends on."""


NOTHING = Dim((), exact=False)


@dataclass(slots=True)
class Indices:
    """Indices of a contraction and of what lies behind it, each with the number of values that matter."""

    sizes: dict[int, int] = field(default_factory=dict)
    parts: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Index → what it was split into."""

    def new(self, size: int) -> int:
        atom = len(self.sizes)
        self.sizes[atom] = size
        return atom

    def resolve(self, atoms: Iterable[int]) -> Iterator[int]:
        """Indices as they are by now, without those of size 1."""
        for atom in atoms:
            if atom in self.parts:
                yield from self.resolve(self.parts[atom])
            elif self.sizes[atom] != 1:
                yield atom

    def of(self, dims: Iterable[Dim]) -> Atoms:
        """All indices that some dimensions depend on."""
        return frozenset(self.resolve(a for d in dims for a in d.atoms))

    def count(self, atoms: Iterable[int]) -> int:
        return prod(self.sizes[a] for a in atoms)

    def split(self, atom: int, major: int) -> tuple[int, int]:
        pair = self.new(major), self.new(self.sizes[atom] // major)
        self.parts[atom] = pair
        return pair


def of_ranks(maker: Map, dims: Sequence[Dim]) -> list[Dim] | None:
    """Indices of the ranks of the node that makes a value; nothing for ranks that it sums."""
    if len(maker.outs) != 1 or maker.coupled or maker.gate is not None:
        return None
    ranks = [NOTHING] * len(maker.ranks)
    for axis, dim in zip(maker.out_axes[0], dims, strict=True):
        if isinstance(axis, Along) and axis.identity:
            ranks[axis.rank] = dim
        elif not isinstance(axis, Fixed):
            return None
    return ranks


def through_axes(
    axes: Axes, ranks: Sequence[Dim], sizes: tuple[Shape, Shape], space: Indices
) -> list[Dim] | None:
    """Dimensions of an operand; ``None`` where it is read otherwise. ``sizes``: of ranks and operand."""
    result = []
    for axis, size in zip(axes, sizes[1], strict=True):
        if isinstance(axis, Fixed):
            result.append(Dim((), exact=size == 1))
        elif isinstance(axis, Along):
            dim = ranks[axis.rank]
            whole = axis.identity and size == sizes[0][axis.rank]
            result.append(Dim(dim.atoms, dim.exact and whole, dim.placed and whole))
        elif isinstance(axis, Table):
            result.append(_picked(axis, ranks[axis.rank], size, space))
        else:
            return None
    return result


def _picked(axis: Table, dim: Dim, size: int, space: Indices) -> Dim:
    """A dimension read by a table: repeated elements, a repeated tensor, or positions as they come."""
    table, count = axis.table, len(axis.table)
    if dim.exact and 0 < size < count and count % size == 0:
        places = np.arange(count)
        for form, sizes, own in (
            (places // (count // size), (size, count // size), 0),
            (places % size, (count // size, size), 1),
        ):
            parts = _regrouped([dim], sizes, space) if np.array_equal(table, form) else None
            if parts is not None:
                return parts[own]
    return Dim(dim.atoms, exact=False)


def through_reshape(
    dims: Sequence[Dim], shape: Shape, source: Shape, space: Indices
) -> list[Dim] | None:
    """Dimensions before a change of shape."""
    if 0 in shape:
        return None
    result = [Dim((), exact=True) if n == 1 else NOTHING for n in source]
    for mine, theirs in _reshape.groups(shape, source):
        if len(mine) == len(theirs) == 1:
            result[theirs[0]] = dims[mine[0]]
            continue
        parts = _regrouped([dims[d] for d in mine], [source[d] for d in theirs], space)
        if parts is None:
            return None
        for dim, part in zip(theirs, parts, strict=True):
            result[dim] = part
    return result


def _regrouped(dims: Sequence[Dim], sizes: Sequence[int], space: Indices) -> list[Dim] | None:
    """The same positions as dimensions of other sizes; splits indices where it must."""
    if not all(d.exact for d in dims):
        atoms = tuple(a for d in dims for a in d.atoms)
        return [Dim(atoms, exact=False)] if len(sizes) == 1 else None
    waiting = list(space.resolve(a for d in dims for a in d.atoms))
    result = []
    for size in sizes:
        own: list[int] = []
        while (left := size // prod(space.sizes[a] for a in own)) > 1:
            if not waiting:
                return None
            atom = waiting.pop(0)
            if left % space.sizes[atom]:
                if space.sizes[atom] % left:
                    return None
                atom, rest = space.split(atom, left)
                waiting.insert(0, rest)
            own.append(atom)
        result.append(Dim(tuple(own), exact=True))
    return None if waiting else result


def is_summed(item: Map, rank: int) -> bool:
    return not any(isinstance(a, Along) and a.rank == rank for a in item.out_axes[0])


def sums(item: Map) -> bool:
    """Whether some rank is summed that has more than one position."""
    return any(n > 1 and is_summed(item, r) for r, n in enumerate(item.ranks))


def in_place(item: Map) -> bool:
    """Whether the result has one position for each point of the iteration space."""
    return item.out_axes == (_access.identity(len(item.ranks)),)


def hands_on(node: Map) -> bool:
    """A view, a cast or a multiple of one operand."""
    return (
        len(node.operands) == 1
        and node.linear
        and not node.coupled
        and node.gate is None
        and node.updates is None
        and node.flavour in ("moved", "product")
        and node.operands[0].within is None
        and node.operands[0].outside is None
        and not sums(node)
    )
