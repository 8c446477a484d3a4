"""Products whose result is symmetric: one half of it is enough.

A tensor times its own transpose is symmetric, also with weights along the sum (``x.T @ (w * x)``). So is a
product of two members of one family: what sums and products make of one symmetric matrix.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from solbench.bound import _access, _bands, _families, _mirrors, _region
from solbench.bound._access import Along
from solbench.bound._contraction import Work
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map
from solbench.bound._region import Joint, Region


def halved(work: Work, item: Map, space: Region, lifted: LiftedGraph) -> Work:
    """The work of a contraction without the mirror images of products that are done anyway.

    Of ``n * n`` entries of ``x @ x.T`` a kernel computes ``n * (n + 1) / 2`` and writes the others from them;
    of entries under a mask, those of which it has not computed the mirror image. Only where every product of
    the iteration space counts: repeats have their own savings.
    """
    if not work.macs or work.macs != space.count():
        return work
    ranks = _mirrors.mirrored(item, lifted)
    if ranks is not None:
        return replace(work, macs=min(work.macs, _folded(space, ranks)))
    if space.is_full and _families.of_product(item, lifted) is not None:
        size = item.ranks[_families.rows(item)]
        return replace(work, macs=work.macs * (size + 1) // (2 * size))
    return work


def _folded(space: Region, ranks: tuple[int, int]) -> int:
    """Points of a region, two that differ in the order of the two ranks only once."""
    first, second = ranks
    size = space.shape[first]
    if space.is_full:
        return prod(space.shape) * (size + 1) // (2 * size)
    swapped = {first: second, second: first}
    axes = tuple(Along(swapped.get(r, r)) for r in range(len(space.shape)))
    both = _region.unite(space.shape, [space, _access.pull(space, axes, space.shape)])
    places = np.arange(size)
    line = Joint((min(ranks), max(ranks)), _bands.bands(places, places + 1, size))
    diagonal = _region.make_box([range(n) for n in space.shape], [line], space.shape)
    on_it = 0 if diagonal is None else both.intersect(diagonal).count()
    return (both.count() + on_it) // 2
