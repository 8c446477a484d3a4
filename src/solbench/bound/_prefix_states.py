"""Products with a state that is written out: the sum of few outer products, read without being put together.

``q[t] @ (state + k[t] v[t])`` in a loop, or ``q @ cumsum(k v)``: while few positions have entered the state, a
product of the query with each key, and of that with its value, costs less than reading the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from solbench.bound import _prefix_dims
from solbench.bound._access import Along
from solbench.bound._chains import Saving
from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape
from solbench.bound._prefix_dims import Atoms, Dim, Indices
from solbench.bound._prefix_factors import call_names

MAX_STEPS = 2048
"""Calls that are followed behind one state."""


@dataclass(slots=True)
class _Sum:
    """A state as a sum of outer products: how many, and what one of them costs."""

    lifted: LiftedGraph
    names: dict[int, str]
    space: Indices
    parts: tuple[Atoms, Atoms, Atoms]
    """Indices of the query, those of a key that are summed with it, and those that only the value has."""
    limit: int
    """Multiply-adds from which on it is no use to go on."""
    spent: int = 0
    along: int | None = None
    """Index along which the terms are a running sum."""

    def _indices(self) -> tuple[Atoms, Atoms, Atoms]:
        """The same, split as the indices are by now."""
        query, summed, shown = (frozenset(self.space.resolve(part)) for part in self.parts)
        return query, summed, shown

    def add(self, value: int, dims: list[Dim]) -> bool:
        """Count the terms behind a value; whether there is nothing else, and few of them."""
        waiting, steps = [(value, dims)], 0
        while waiting:
            value, dims = waiting.pop()
            steps += 1
            behind = self._behind(value, dims)
            if behind is None or steps > MAX_STEPS or self.spent >= self.limit:
                return False
            waiting += behind
        return self.spent < self.limit

    def _behind(self, value: int, dims: list[Dim]) -> list[tuple[int, list[Dim]]] | None:
        """Values of which this one is the sum, after outer products among them are counted."""
        pin, maker = self.lifted.facts[value].pin, self.lifted.maker.get(value)
        if pin is not None and pin.value == 0 and pin.free is None:
            return []
        if isinstance(maker, Reshape):
            shape, source = (self.lifted.values[v].shape for v in (value, maker.value))
            moved = _prefix_dims.through_reshape(dims, shape, source, self.space)
            return None if moved is None else [(maker.value, moved)]
        if maker is None or any(o.outside is not None for o in maker.operands):
            return None
        if self.names.get(value, "").startswith("cumsum."):
            return self._running(maker, dims)
        ranks = _prefix_dims.of_ranks(maker, dims)
        if ranks is None or not maker.linear or any(o.within is not None for o in maker.operands):
            return None
        times = 1
        for rank, size in enumerate(maker.ranks):
            if size > 1 and _prefix_dims.is_summed(maker, rank):
                ranks[rank] = Dim((self.space.new(size),), exact=True)
                times *= size
        operands = []
        for operand in maker.operands:
            sizes = maker.ranks, self.lifted.values[operand.value].shape
            read = _prefix_dims.through_axes(operand.axes, ranks, sizes, self.space)
            if read is None:
                return None
            operands.append((operand.value, read))
        if maker.contracts or (maker.flavour == "product" and len(operands) == 2):
            return self._product(operands, times)
        plain = maker.flavour in ("moved", "product", "offset", "computed")
        return operands if plain and times == 1 and maker.updates is None else None

    def _product(
        self, operands: list[tuple[int, list[Dim]]], times: int
    ) -> list[tuple[int, list[Dim]]] | None:
        """An outer product is counted; of a state times a decay the state is followed."""
        query, summed, shown = self._indices()
        whole = [
            (v, d) for v, d in operands
            if (own := self.space.of(d)) & summed and own & shown
        ]  # fmt: skip
        if len(whole) == 1 and times == 1:
            return whole
        sides = [self.space.of(d) for _, d in operands]
        keys = [s for s in sides if s & summed]
        values = [s for s in sides if s & shown]
        if whole or len(keys) != 1 or len(values) != 1:
            return None
        apart = (
            frozenset(self.space.resolve([self.along])) if self.along is not None else frozenset()
        )
        first = query | keys[0]
        second = (first - summed) | values[0]
        self.spent += self.space.count(first - apart) + self.space.count(second - apart)
        return []

    def _running(self, maker: Map, dims: list[Dim]) -> list[tuple[int, list[Dim]]] | None:
        """The terms of one position; they are added up along an index that the query has too."""
        (operand,) = maker.operands
        line = len(maker.ranks) - 1
        (place,) = [
            d for d, a in enumerate(operand.axes) if isinstance(a, Along) and a.rank == line
        ]
        own = self.space.of([dims[place]])
        if self.along is not None or len(own) != 1 or not dims[place].exact:
            return None
        (self.along,) = own
        return [(operand.value, dims)] if own <= self._indices()[0] else None


def state_savings(lifted: LiftedGraph, found: Demanded) -> Iterator[Saving]:
    """What products with states of few terms save if the terms are multiplied one by one."""
    terms = _terms(lifted)
    names: dict[int, str] = {}
    for cost in found.costs:
        item = cost.step.lifted
        if not isinstance(item, Map) or cost.work is None or cost.space is None:
            continue
        if not cost.work.macs or len(item.operands) != 2 or len(item.outs) != 1:
            continue
        if cost.work.macs != cost.space.count() or not cost.space.is_full:
            continue
        for side in (0, 1):
            few = terms.get(item.operands[side].value)
            if few is not None and few < _breadth(item, side):
                names = names or call_names(lifted)
                saved = _saved(cost, item, side, lifted, names)
                if saved > 0:
                    yield Saving(cost, frozenset({id(cost)}), saved)
                    break


def _breadth(item: Map, side: int) -> int:
    """More terms than that cost more than the state: the smaller of a key and a value."""
    mine, theirs = (
        {a.rank for a in item.operands[s].axes if isinstance(a, Along)} for s in (side, 1 - side)
    )
    key = [r for r in mine & theirs if _prefix_dims.is_summed(item, r)]
    return min(prod(item.ranks[r] for r in group) for group in (key, mine - theirs))


def _terms(lifted: LiftedGraph) -> dict[int, int]:
    """Values that may be sums of outer products, and of how many at least: one quick pass."""
    result: dict[int, int] = {}
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Reshape):
            count = result.get(item.value)
        elif len(item.outs) == 1:
            count = _count(item, result, lifted)
        else:
            count = None
        if count is not None:
            result[item.out if isinstance(item, Reshape) else item.outs[0]] = count
    return result


def _count(item: Map, known: dict[int, int], lifted: LiftedGraph) -> int | None:
    out = item.outs[0]
    pin = lifted.facts[out].pin
    if pin is not None and pin.value == 0 and pin.free is None:
        return 0
    if item.contracts and _prefix_dims.sums(item):
        return prod(n for r, n in enumerate(item.ranks) if _prefix_dims.is_summed(item, r))
    if item.contracts or (item.flavour == "product" and len(item.operands) == 2):
        size = lifted.values[out].numel
        whole = [o.value for o in item.operands if lifted.values[o.value].numel == size]
        return known.get(whole[0]) if whole else 1
    running = len(item.ranks) > len(item.out_axes[0]) and len(item.operands) == 1
    if running or _prefix_dims.hands_on(item):
        return known.get(item.operands[0].value)
    counts = [known.get(o.value) for o in item.operands]
    if not item.linear or item.coupled or len(counts) != 2 or item.updates is not None:
        return None
    return None if None in counts else sum(c for c in counts if c is not None)


def _saved(cost: StepCost, item: Map, side: int, lifted: LiftedGraph, names: dict[int, str]) -> int:
    assert cost.work is not None
    space = Indices()
    ranks = [Dim((space.new(n),), exact=True, placed=True) for n in item.ranks]
    dims = [
        _prefix_dims.through_axes(
            o.axes, ranks, (item.ranks, lifted.values[o.value].shape), space
        )
        for o in item.operands
    ]  # fmt: skip
    mine, theirs = dims[side], dims[1 - side]
    if mine is None or theirs is None or any(o.within or o.outside for o in item.operands):
        return 0
    kept = {a.rank for a in item.out_axes[0] if isinstance(a, Along)}
    query = space.of(theirs)
    summed = space.of(d for r, d in enumerate(ranks) if r not in kept) & query & space.of(mine)
    shown = space.of(mine) - query
    terms = _Sum(lifted, names, space, (query, summed, shown), cost.work.macs)
    if not summed or not shown or not terms.add(item.operands[side].value, mine):
        return 0
    if terms.along is None:
        return cost.work.macs - terms.spent
    rows = space.sizes[terms.along]
    each = cost.work.macs // rows - terms.spent * np.arange(1, rows + 1, dtype=np.int64)
    return int(np.maximum(each, 0).sum())
