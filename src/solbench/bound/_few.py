"""Tensors of which few elements are not zero, wherever they are: one-hot codes, gates of the chosen experts.

Which elements those are is not known, but how many: a product with the others is no work, and what would have
been multiplied by them is not needed. As with unknown indices, the least is that all lines choose the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from solbench.bound import _region, _reshape
from solbench.bound._access import Along, Fixed
from solbench.bound._lifted import Facts, Few, Map, Operand, Pin, Reshape
from solbench.bound._region import Box, Shape

KEPT = 4
"""Most statements about one tensor."""


def of_map(node: Map, facts: Mapping[int, Facts]) -> tuple[Few, ...]:
    """What is known of the result of a map, by its dimensions."""
    if node.few:
        return node.few
    if len(node.outs) != 1:
        return ()
    sides = [list(in_ranks(o, facts[o.value].few)) for o in node.operands]
    if not any(sides):
        return ()
    if len(node.operands) == 1 and _keeps_zeros(node):
        found = sides[0]
    elif len(sides) == 2 and (node.flavour == "product" or node.contracts):
        found = [*sides[0], *sides[1], *_together(node, sides)]
    else:
        return ()
    return tuple(_by_dimension(found, node))[:KEPT]


def _keeps_zeros(node: Map) -> bool:
    """Whether the result is zero where the operand is."""
    if node.coupled or node.operands[0].within is not None or node.operands[0].outside is not None:
        return False
    if node.pin is None:
        return node.flavour == "moved" or (node.linear and node.flavour != "offset")
    pin = node.pin([Pin(0.0, None)])
    return pin is not None and pin.value == 0 and pin.free is None


def in_ranks(operand: Operand, given: Sequence[Few]) -> Iterator[Few]:
    """Statements about an operand, by the ranks of its reader."""
    ranks = [a.rank for a in operand.axes if isinstance(a, Along)]
    for few in given:
        axes = [operand.axes[d] for d in few.dims]
        if all(
            isinstance(a, Fixed) or (isinstance(a, Along) and ranks.count(a.rank) == 1)
            for a in axes
        ):
            own = frozenset(a.rank for a in axes if isinstance(a, Along))
            if own:
                yield Few(own, few.count)


def _together(node: Map, sides: Sequence[Sequence[Few]]) -> Iterator[Few]:
    """Two independent choices are one of a pair."""
    seen = [{a.rank for a in o.axes if isinstance(a, Along)} for o in node.operands]
    for left in sides[0]:
        for right in sides[1]:
            if not left.dims & seen[1] and not right.dims & seen[0]:
                yield Few(left.dims | right.dims, left.count * right.count)


def _by_dimension(found: Sequence[Few], node: Map) -> Iterator[Few]:
    """Ranks as dimensions of the result; ranks that are summed put their lines together."""
    places = {a.rank: d for d, a in enumerate(node.out_axes[0]) if isinstance(a, Along)}
    lost = {r for r, n in enumerate(node.ranks) if r not in places and n != 1}
    for few in found:
        if few.dims <= lost:
            continue
        count = few.count * prod(node.ranks[r] for r in lost - few.dims)
        dims = frozenset(places[r] for r in few.dims if r in places)
        size = prod(node.ranks[r] for r in few.dims if r in places)
        if dims and count < size:
            yield Few(dims, count)


def of_reshape(node: Reshape, known: Facts, source: Shape, target: Shape) -> tuple[Few, ...]:
    """The same statements under another shape, where their dimensions stay."""
    if not known.few or 0 in source:
        return ()
    groups = [(frozenset(mine), theirs) for mine, theirs in _reshape.groups(source, target)]
    found = []
    for few in known.few:
        own = [(mine, theirs) for mine, theirs in groups if mine & few.dims]
        if all(mine <= few.dims and len(theirs) == 1 for mine, theirs in own):
            found.append(Few(frozenset(theirs[0] for _, theirs in own), few.count))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Points of an iteration space at which an operand can be other than zero, in one case of the least."""

    operand: int
    box: Box
    rank: int | None
    """The one rank along which there are few; ``None`` if there are several."""


def chosen(item: Map, facts: Mapping[int, Facts]) -> Iterator[Chosen]:
    """For each factor of a product of which few elements are not zero."""
    if not (item.contracts or (item.flavour == "product" and len(item.operands) == 2)):
        return
    for index, operand in enumerate(item.operands[:2]):
        known = facts[operand.value]
        if known.pin is not None or operand.within is not None or operand.outside is not None:
            continue  # zeros that are known count one by one
        boxes = [_least(few, item.ranks) for few in in_ranks(operand, known.few)]
        best = min(
            (b for b in boxes if b is not None),
            key=lambda b: _region.count_box(b, {}),
            default=None,
        )
        if best is not None:
            narrow = [r for r, s in enumerate(best.sets) if len(s) != item.ranks[r]]
            yield Chosen(index, best, narrow[0] if len(narrow) == 1 else None)


def _least(few: Few, ranks: Shape) -> Box | None:
    """One choice of elements: the first of the longest rank, and the first of each other."""
    longest = max(few.dims, key=lambda r: ranks[r])
    if few.count >= ranks[longest] and len(few.dims) > 1:
        return None
    sets = [
        range(min(few.count, n)) if r == longest else range(1 if r in few.dims else n)
        for r, n in enumerate(ranks)
    ]
    return Box(tuple(sets))
