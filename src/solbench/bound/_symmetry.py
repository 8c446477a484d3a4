"""Products of a tensor with its own transpose: the result is symmetric, and one half of it is enough."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from solbench.bound import _access, _facts
from solbench.bound._access import Along, Axes, Axis, Fixed
from solbench.bound._contraction import Work
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._region import Region, Shape


def halved(work: Work, item: Map, space: Region, lifted: LiftedGraph) -> Work:
    """The work of a contraction without the mirror images of products that are done anyway.

    Of ``n * n`` entries of ``x @ x.T`` a kernel computes ``n * (n + 1) / 2`` and writes the others from them.
    Only where every product of the iteration space counts: masks and repeats have their own savings.
    """
    if not space.is_full or work.macs != prod(item.ranks):
        return work
    size = _mirrored_size(item, lifted)
    if size is None:
        return work
    return replace(work, macs=work.macs * (size + 1) // (2 * size))


def _mirrored_size(item: Map, lifted: LiftedGraph) -> int | None:
    """Size of the two ranks of the result that may be swapped; ``None`` if there are no such ranks."""
    if any(o.within is not None or o.outside is not None for o in item.operands[:2]):
        return None
    (first, left), (second, right) = (_source(o, lifted) for o in item.operands[:2])
    if first != second:
        return None
    apart = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    if len(apart) != 1 or not all(isinstance(a, Along) and a.identity for a in (*left, *right)):
        return None
    mine, other = (a.rank for a in apart[0] if isinstance(a, Along))
    shown = {a.rank for a in item.out_axes[0] if isinstance(a, Along)}
    equal = item.ranks[mine] == item.ranks[other]
    return item.ranks[mine] if equal and {mine, other} <= shown else None


def _source(operand: Operand, lifted: LiftedGraph) -> tuple[int, tuple[Axis, ...]]:
    """The tensor that an operand is a permutation of, with its axes but for dimensions of size 1."""
    value, axes = operand.value, operand.axes
    while (maker := lifted.maker.get(value)) is not None:
        if isinstance(maker, Reshape):
            source = maker.value
            moved = _through_ones(axes, lifted.values[value].shape, lifted.values[source].shape)
        elif _facts.is_view(maker):
            source = maker.operands[0].value
            moved = _through_view(axes, maker.operands[0], maker, lifted)
        else:
            break
        if moved is None:
            break
        value, axes = source, moved
    shape = lifted.values[value].shape
    return value, tuple(a for a, n in zip(axes, shape, strict=True) if n != 1)


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
