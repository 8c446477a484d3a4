"""Products that another contraction does as well: of slices, permutations, transposes of the same tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from solbench.bound import _access, _facts, _region, _sets
from solbench.bound._access import Along, Axes, Axis, Fixed, Table
from solbench.bound._chains import Saving
from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._region import Region, Shape

MAX_TOGETHER = 32
"""Most regions of one pair of tensors that are united; of more only equal ones count once."""


Tie = tuple[int, int, int]
"""Dimensions of two tensors whose positions run together, and how far they are apart."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The products of a contraction, as positions of the two tensors that its operands are views of."""

    tensors: tuple[int, int]
    ties: tuple[Tie, ...]
    region: Region
    """Over the dimensions of the first, then those of the second that are not tied."""


def repeat_savings(lifted: LiftedGraph, found: Demanded) -> Iterator[Saving]:
    """What contractions need not multiply, since one before them does."""
    for costs in _candidates(lifted, found).values():
        places = [(c, p) for c in costs if (p := _places(c, lifted)) is not None]
        ties = {tie for _, place in places for tie in place.ties()}
        groups: dict[object, list[tuple[StepCost, _Pairs]]] = {}
        for cost, place in places:
            pairs = place.pairs(cost, ties, lifted)
            if pairs is not None:
                groups.setdefault((pairs.tensors, pairs.ties), []).append((cost, pairs))
        for group in groups.values():
            if len(group) > 1:
                yield from _repeated(group)


def _candidates(lifted: LiftedGraph, found: Demanded) -> dict[object, list[StepCost]]:
    """Contractions by the two tensors behind them, where there are several."""
    groups: dict[object, list[StepCost]] = {}
    for cost in found.costs:
        item = cost.step.lifted
        if (
            cost.work is None
            or cost.space is None
            or not cost.work.macs
            or not isinstance(item, Map)
        ):
            continue
        if len(item.outs) == 1 and all(
            o.within is None and o.outside is None for o in item.operands
        ):
            origins = frozenset(_origin(o.value, lifted) for o in item.operands[:2])
            groups.setdefault(origins, []).append(cost)
    return {k: v for k, v in groups.items() if len(v) > 1}


def _origin(value: int, lifted: LiftedGraph) -> int:
    while (source := _viewed(value, lifted)) is not None:
        value = source
    return value


def _viewed(value: int, lifted: LiftedGraph) -> int | None:
    """What a value is a view of, in a form that can be followed."""
    maker = lifted.maker.get(value)
    if isinstance(maker, Reshape):
        wide = [[n for n in lifted.values[v].shape if n != 1] for v in (maker.value, value)]
        return maker.value if wide[0] == wide[1] else None
    if maker is None or not _facts.is_view(maker) or maker.operands[0].outside is not None:
        return None
    plain = maker.out_axes[0] == _access.identity(len(maker.ranks))
    followed = all(isinstance(a, Along | Fixed | Table) for a in maker.operands[0].axes)
    return maker.operands[0].value if plain and followed else None


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the two operands of a contraction are read in the tensors that they are views of."""

    tensors: tuple[int, int]
    left: tuple[Along | Fixed | Table, ...]
    right: tuple[Along | Fixed | Table, ...]

    def ties(self) -> Iterator[Tie]:
        for dim, axis in enumerate(self.right):
            for other_dim, other in enumerate(self.left):
                if isinstance(axis, Along) and isinstance(other, Along) and axis.rank == other.rank:
                    yield other_dim, dim, axis.start - other.start

    def pairs(self, cost: StepCost, known: set[Tie], lifted: LiftedGraph) -> _Pairs | None:
        """The products, with dimensions tied as in other contractions also where one position is read."""
        item = cost.step.lifted
        assert isinstance(item, Map) and cost.work is not None and cost.space is not None
        fixed = {t for t in known if self._holds(t)}
        ties = tuple(sorted({*self.ties(), *fixed}))
        tied = {t[1] for t in ties}
        free = [d for d in range(len(self.right)) if d not in tied]
        if len(tied) < len(ties) or not _told_apart(self.left, self.right, item.ranks):
            return None
        first, second = (lifted.values[t].shape for t in self.tensors)
        shape = (*first, *(second[d] for d in free))
        axes = (*self.left, *(self.right[d] for d in free))
        region = _access.pull(cost.space, axes, shape)
        return _Pairs(self.tensors, ties, region) if region.count() == cost.work.macs else None

    def _holds(self, tie: Tie) -> bool:
        first, second, apart = tie
        left, right = self.left[first], self.right[second]
        return (
            isinstance(left, Fixed)
            and isinstance(right, Fixed)
            and right.index - left.index == apart
        )


def _places(cost: StepCost, lifted: LiftedGraph) -> _Places | None:
    item = cost.step.lifted
    assert isinstance(item, Map) and cost.work is not None and cost.space is not None
    if cost.work.macs != cost.space.count():
        return None  # something was left out already
    sides = [s for o in item.operands[:2] if (s := _positions(o, lifted, item.ranks)) is not None]
    if len(sides) < 2:
        return None
    (first, left), (second, right) = sorted(sides, key=lambda s: s[0])
    shared = {a.rank for a in left if not isinstance(a, Fixed)}
    for axis in right:
        if isinstance(axis, Fixed) or axis.rank not in shared:
            continue
        partners = [a for a in left if not isinstance(a, Fixed) and a.rank == axis.rank]
        if not all(isinstance(a, Along) and a.step == getattr(axis, "step", 0) for a in partners):
            return None  # they do not run together one by one
    return _Places((first, second), left, right)


def _told_apart(left: Sequence[Axis], right: Sequence[Axis], ranks: Shape) -> bool:
    """Whether different points of the iteration space are different pairs of elements."""
    used = {a.rank for a in (*left, *right) if isinstance(a, Along | Table)}
    return all(n == 1 or r in used for r, n in enumerate(ranks))


def _positions(
    operand: Operand, lifted: LiftedGraph, ranks: Shape
) -> tuple[int, tuple[Along | Fixed | Table, ...]] | None:
    """The tensor that an operand is a view of, and where it is read there."""
    value, axes = operand.value, operand.axes
    while (source := _viewed(value, lifted)) is not None:
        maker = lifted.maker[value]
        if isinstance(maker, Reshape):
            wide = iter(
                [a for a, n in zip(axes, lifted.values[value].shape, strict=True) if n != 1]
            )
            axes = tuple(next(wide) if n != 1 else Fixed() for n in lifted.values[source].shape)
        else:
            moved = [_composed(a, axes, ranks) for a in maker.operands[0].axes]
            if any(a is None for a in moved):
                return None
            axes = tuple(a for a in moved if a is not None)
        value = source
    plain = tuple(a for a in axes if isinstance(a, Along | Fixed | Table))
    return (value, plain) if len(plain) == len(axes) else None


def _composed(view: Axis, axes: Axes, ranks: Shape) -> Axis | None:
    """An axis of a view's source, over the ranks of whoever reads the view."""
    if isinstance(view, Fixed):
        return view
    if not isinstance(view, Along | Table):
        return None
    own = axes[view.rank]
    if isinstance(view, Along):
        if isinstance(own, Along):
            return Along(own.rank, view.start + view.step * own.start, view.step * own.step)
        if isinstance(own, Table):
            return Table(own.rank, view.start + view.step * own.table)
        return Fixed(view.start + view.step * own.index) if isinstance(own, Fixed) else None
    if isinstance(own, Fixed):
        return Fixed(int(view.table[own.index]))
    if not isinstance(own, Along | Table):
        return None
    table = view.table[_access.axis_table(own, ranks[own.rank])]
    steps = np.diff(table)
    if len(steps) and bool((steps == steps[0]).all()) and steps[0]:
        return Along(own.rank, int(table[0]), int(steps[0]))
    return Table(own.rank, table)


def _repeated(group: Sequence[tuple[StepCost, _Pairs]]) -> Iterator[Saving]:
    done: list[Region] = []
    seen: set[object] = set()
    members, total = set(), 0
    for cost, pairs in group:
        key = _key(pairs.region)
        whole = cost.work.macs if cost.work else 0
        new = whole
        if key is not None and key in seen:
            new = 0
        elif len(done) < MAX_TOGETHER:
            shape = pairs.region.shape
            before = _region.unite(shape, done).count() if done else 0
            done.append(pairs.region)
            new = _region.unite(shape, done).count() - before
        if key is not None:
            seen.add(key)
        if new < whole:
            members.add(id(cost))
            total += whole - max(new, 0)
    if members:
        last = next(c for c, _ in reversed(group) if id(c) in members)
        yield Saving(last, frozenset(members), total)


def _key(region: Region) -> object | None:
    if len(region.boxes) != 1 or region.boxes[0].joints:
        return None
    return tuple(_sets.key(s) for s in region.boxes[0].sets)
