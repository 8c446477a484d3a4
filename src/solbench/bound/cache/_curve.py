"""Traffic against capacity: what a cache of each size saves. Both are counted in elements."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Curve:
    """A falling staircase: with ``capacities[i]`` elements of cache, ``traffic[i]`` elements cross it."""

    capacities: tuple[int, ...]
    """Rising."""
    traffic: tuple[int, ...]
    """Falling."""

    def at(self, capacity: float) -> int | None:
        """Least traffic found with this capacity; ``None`` below the smallest that any schedule needs."""
        place = bisect_right(self.capacities, capacity)
        return self.traffic[place - 1] if place else None

    @property
    def least(self) -> int:
        """Traffic where everything fits."""
        return self.traffic[-1]


def frontier(capacity: NDArray[Any], traffic: NDArray[Any]) -> Curve:
    """Of many schedules those that no other beats in both capacity and traffic."""
    order = np.lexsort((traffic, capacity))
    sizes, moved = capacity[order], traffic[order]
    lowest = np.minimum.accumulate(moved)
    better = np.ones(len(moved), dtype=np.bool_)
    better[1:] = moved[1:] < lowest[:-1]
    return Curve(tuple(int(c) for c in sizes[better]), tuple(int(t) for t in moved[better]))


def merged(curves: Iterable[Curve]) -> Curve:
    """The best of several ways to do the same work."""
    given = list(curves)
    capacity = np.array([c for each in given for c in each.capacities])
    traffic = np.array([t for each in given for t in each.traffic])
    return frontier(capacity, traffic)


def summed(curves: Iterable[Curve]) -> Curve:
    """Several pieces of work one after the other: each has the whole cache in its turn."""
    given = list(curves)
    first = max(each.capacities[0] for each in given)
    steps = sorted({c for each in given for c in each.capacities if c >= first})
    totals = [sum(each.at(c) or 0 for each in given) for c in steps]
    return frontier(np.array(steps), np.array(totals))


def scaled(curve: Curve, factor: int) -> Curve:
    """The same work on ``factor`` independent sets of data."""
    return Curve(curve.capacities, tuple(factor * t for t in curve.traffic))
