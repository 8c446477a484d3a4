"""Which two ranks of a product of a tensor with itself may be swapped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from solbench.bound import _access, _facts, _reps
from solbench.bound._access import Along, Axes, Axis, Fixed
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._region import Shape


def mirrored(item: Map, lifted: LiftedGraph) -> tuple[int, int] | None:
    """The two ranks of the result that may be swapped; ``None`` if there are no such ranks."""
    if any(o.outside is not None for o in item.operands[:2]):
        return None
    sides = [list(_sources(o, lifted)) for o in item.operands[:2]]
    shown = {a.rank for a in item.out_axes[0] if isinstance(a, Along)}
    for left in sides[0]:
        for right in sides[1]:
            ranks = _swapped(left, right, item) if left.value == right.value else None
            if ranks is None or not set(ranks) <= shown:
                continue
            if all(_constant(f, ranks, lifted) for f in (*left.factors, *right.factors)):
                return ranks
    return None


@dataclass(frozen=True, slots=True)
class _Factor:
    """What an operand's elements are multiplied by on the way, and the ranks of the dimensions."""

    operand: Operand
    maker: Map
    axes: Axes


@dataclass(frozen=True, slots=True)
class _Source:
    """A tensor behind an operand, where it is read, and the factors between."""

    value: int
    axes: tuple[Axis, ...]
    """But for dimensions of size 1."""
    factors: tuple[_Factor, ...]


def _swapped(left: _Source, right: _Source, item: Map) -> tuple[int, int] | None:
    """The two ranks in which the places read differ, if that is all in which they do."""
    apart = [(a, b) for a, b in zip(left.axes, right.axes, strict=True) if a != b]
    if len(apart) != 1:
        return None
    if not all(isinstance(a, Along) and a.identity for a in (*left.axes, *right.axes)):
        return None
    mine, other = (a.rank for a in apart[0] if isinstance(a, Along))
    return (mine, other) if item.ranks[mine] == item.ranks[other] else None


def _constant(factor: _Factor, ranks: tuple[int, int], lifted: LiftedGraph) -> bool:
    """Whether a factor is the same along the ranks that are swapped."""
    reps = _facts.operand_reps(factor.operand, factor.maker.ranks, lifted.values, lifted.facts)
    return all(
        _reps.is_const(reps[dim], factor.maker.ranks[dim])
        for dim, axis in enumerate(factor.axes)
        if isinstance(axis, Along) and axis.rank in ranks
    )


def _sources(operand: Operand, lifted: LiftedGraph) -> Iterator[_Source]:
    """The operand, the tensor that it is a permutation of, and what that is a multiple of."""
    if operand.within is not None:
        return
    value, axes, factors = operand.value, operand.axes, tuple[_Factor, ...]()
    while True:
        shape = lifted.values[value].shape
        wide = tuple(a for a, n in zip(axes, shape, strict=True) if n != 1)
        yield _Source(value, wide, factors)
        maker = lifted.maker.get(value)
        moved: Axes | None = None
        if isinstance(maker, Reshape):
            source = maker.value
            moved = _through_ones(axes, shape, lifted.values[source].shape)
        elif maker is not None and _facts.is_view(maker):
            source = maker.operands[0].value
            moved = _through_view(axes, maker.operands[0], maker, lifted)
        elif maker is not None and (main := _main_factor(maker, lifted)) is not None:
            source, moved = main.value, axes
            others = (o for o in maker.operands if o is not main)
            factors = (*factors, *(_Factor(o, maker, axes) for o in others))
        if moved is None:
            return
        value, axes = source, moved


def _main_factor(maker: Map, lifted: LiftedGraph) -> Operand | None:
    """The operand of a product that is as large as the result."""
    identity = _access.identity(len(maker.ranks))
    whole = all(o.within is None and o.outside is None for o in maker.operands)
    if maker.flavour != "product" or maker.contracts or not whole or maker.out_axes[0] != identity:
        return None
    large = [o for o in maker.operands if o.axes == identity]
    if len(maker.operands) > 2 or not large:
        return None
    return max(large, key=lambda o: lifted.maker.get(o.value) is not None or o is large[0])


def _through_ones(axes: Axes, shape: Shape, source: Shape) -> Axes | None:
    """Axes before dimensions of size 1 came or went; nothing for another change of shape."""
    wide = [a for a, n in zip(axes, shape, strict=True) if n != 1]
    if [n for n in shape if n != 1] != [n for n in source if n != 1]:
        return None
    rest = iter(wide)
    return tuple(next(rest) if n != 1 else Fixed() for n in source)


def _through_view(axes: Axes, view: Operand, maker: Map, lifted: LiftedGraph) -> Axes | None:
    """Axes before a permutation; nothing for another view."""
    if not _access.is_permutation(view.axes, maker.ranks, lifted.values[view.value].shape):
        return None
    return tuple(axes[a.rank] for a in view.axes if isinstance(a, Along))
