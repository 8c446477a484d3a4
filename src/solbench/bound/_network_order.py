"""The cheapest order of multiplying several tensors that share indices, two at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Atoms = frozenset[int]
Count = Callable[[Atoms], int]
"""Points of the iteration space over some of the indices."""


def fewest_multiply_adds(
    factors: Sequence[Atoms], shown: Atoms, count: Count, *, selections: int = 0
) -> int:
    """Multiply-adds of the best order, by dynamic programming over the subsets of the factors.

    An index that only one factor has, and the result has not, is summed before. Multiplying two tensors
    without a sum is vector work and costs nothing here. The last ``selections`` factors only say which position
    goes where: to multiply by them is to move and to add, and costs nothing either.
    """
    everyone = (1 << len(factors)) - 1
    first = len(factors) - selections
    tensors = (1 << first) - 1
    kept = [_kept(subset, factors, shown) for subset in range(everyone + 1)]
    best = [0] * (everyone + 1)
    for subset in range(1, everyone + 1):
        if subset & (subset - 1) == 0:
            continue
        lowest = subset & -subset
        tied: Atoms = frozenset().union(
            *(factors[i] for i in range(first, len(factors)) if not subset >> i & 1)
        )
        found: int | None = None
        part = (subset - 1) & subset
        while part:
            if part & lowest:  # each split once
                other = subset ^ part
                step = 0
                if part & tensors and other & tensors:
                    step = _step(kept[part], kept[other], kept[subset], tied, count)
                total = best[part] + best[other] + step
                found = total if found is None else min(found, total)
            part = (part - 1) & subset
        best[subset] = found or 0
    return best[everyone]


def _step(left: Atoms, right: Atoms, result: Atoms, tied: Atoms, count: Count) -> int:
    """Multiply-adds of one product of two tensors.

    Every element of one with every element of the other, to be summed by a selection later (``tied`` holds its
    indices), is a product with a sum all the same: a convolution of one channel is one.
    """
    both = left | right
    outer = not (left <= right or right <= left) and bool(both & tied)
    return count(both) if outer or both - result else 0


def _kept(subset: int, factors: Sequence[Atoms], shown: Atoms) -> Atoms:
    """Indices of the product of a subset, once those that nothing else has are summed."""
    inside: Atoms = frozenset().union(*(f for i, f in enumerate(factors) if subset >> i & 1))
    outside: Atoms = frozenset().union(*(f for i, f in enumerate(factors) if not subset >> i & 1))
    return inside & (outside | shown)
