"""Traffic of one loop nest by search: every perfectly dividing tile, every useful loop order.

A mapping keeps one tile of each tensor on chip and moves whole tiles. A tensor's tile is loaded anew in
every iteration of the loops outside, except the innermost ones that do not index it. This is the search
of Orojenesis (Huang, Tsai, Emer, Parashar, "Mind the gap: attainable data movement and operational
intensity bounds for tensor algorithms", ISCA 2024), written for the few forms that occur here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound.cache._curve import Curve, frontier, merged

Counts = NDArray[np.float64]
MOST_TILES = 1 << 14
"""Tiles tried at most; with more divisors than that allows, evenly spread ones are taken."""


@dataclass(frozen=True, slots=True)
class Window:
    """One dimension of a convolution: position ``stride * out + dilation * tap``."""

    out: int
    taps: int
    stride: int = 1
    dilation: int = 1

    def read(self, outputs: Counts | int) -> Any:
        """Input positions under so many neighbouring outputs."""
        return (outputs - 1) * self.stride + (self.taps - 1) * self.dilation + 1


@lru_cache(maxsize=1024)
def product_curve(rows: int, columns: int, inner: int) -> Curve:
    """``ik,kj->ij``: least traffic of one product against the capacity."""
    sizes = {"m": rows, "n": columns, "k": inner}
    curves = []
    tiles = _tiles(sizes, MOST_TILES)
    left, right, out = tiles["m"] * tiles["k"], tiles["k"] * tiles["n"], tiles["m"] * tiles["n"]
    for order in permutations("mnk"):
        traffic = (
            _loads("mk", order, sizes, tiles) * left
            + _loads("kn", order, sizes, tiles) * right
            + _stores("mn", order, sizes, tiles) * out
        )
        curves.append(frontier(left + right + out, traffic))
    return merged(curves)


_CONVOLUTION_ORDERS = ("byxco", "ocbyx", "byxoc", "obyxc", "cobyx", "cbyxo")
"""For each tensor the orders in which it stays while the others change."""


@lru_cache(maxsize=256)
def convolution_curve(
    batch: int, channels: int, filters: int, windows: tuple[Window, ...]
) -> Curve:
    """A direct convolution in one or more dimensions; taps are never tiled, the first two dimensions are."""
    first, second = (*windows, Window(1, 1), Window(1, 1))[:2]
    deeper = windows[2:]
    further_in = int(np.prod([w.read(w.out) for w in deeper], dtype=np.int64))
    further_out = int(np.prod([w.out for w in deeper], dtype=np.int64))
    taps = int(np.prod([w.taps for w in windows], dtype=np.int64))
    sizes = {"b": batch, "y": first.out, "x": second.out, "c": channels, "o": filters}
    tiles = _tiles(sizes, MOST_TILES)
    image = tiles["b"] * tiles["c"] * first.read(tiles["y"]) * second.read(tiles["x"]) * further_in
    weight = tiles["o"] * tiles["c"] * taps
    out = tiles["b"] * tiles["o"] * tiles["y"] * tiles["x"] * further_out
    curves = []
    for order in _CONVOLUTION_ORDERS:
        traffic = (
            _loads("byxc", order, sizes, tiles) * image
            + _loads("oc", order, sizes, tiles) * weight
            + _stores("byxo", order, sizes, tiles) * out
        )
        curves.append(frontier(image + weight + out, traffic))
    return merged(curves)


def divisors(number: int) -> list[int]:
    """All of them, rising."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def thinned(values: Sequence[int], most: int) -> list[int]:
    """At most ``most`` of the values, first and last among them, evenly spread."""
    if len(values) <= most:
        return list(values)
    places = np.linspace(0, len(values) - 1, max(most, 2)).round().astype(int)
    return [values[i] for i in sorted(set(places.tolist()))]


def _tiles(sizes: Mapping[str, int], most: int) -> dict[str, Counts]:
    """Every combination of perfect factors, as one flat array a rank."""
    choices = {rank: divisors(size) for rank, size in sizes.items()}
    limit = max(len(c) for c in choices.values())
    while np.prod([min(len(c), limit) for c in choices.values()], dtype=np.float64) > most:
        limit -= 1
    kept = [np.array(thinned(c, limit), dtype=np.float64) for c in choices.values()]
    grids = np.meshgrid(*kept, indexing="ij")
    return {rank: grid.reshape(-1) for rank, grid in zip(choices, grids, strict=True)}


def _loads(
    own: str, order: Sequence[str], sizes: Mapping[str, int], tiles: Mapping[str, Counts]
) -> Counts:
    """How often a tile of a tensor over the ranks ``own`` is brought in; ``order`` is outermost first."""
    some = next(iter(tiles.values()))
    count = np.ones_like(some)
    moving = np.zeros(len(some), dtype=np.bool_)
    for rank in reversed(order):
        steps = sizes[rank] / tiles[rank]
        if rank in own:
            moving |= steps > 1
        count *= np.where(moving, steps, 1.0)
    return count


def _stores(
    own: str, order: Sequence[str], sizes: Mapping[str, int], tiles: Mapping[str, Counts]
) -> Counts:
    """Writes of a tile of the result, and reads of those that were written unfinished."""
    visits = _loads(own, order, sizes, tiles)
    distinct = np.ones_like(visits)
    for rank in own:
        distinct *= sizes[rank] / tiles[rank]
    return 2 * visits - distinct
