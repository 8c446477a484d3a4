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
    bits = _Bits(frozenset(shown).union(*factors), count)
    everyone = (1 << len(factors)) - 1
    tensors = (1 << (len(factors) - selections)) - 1
    masks, wanted = [bits.mask(f) for f in factors], bits.mask(shown)
    inside = [0] * (everyone + 1)
    for subset in range(1, everyone + 1):
        lowest = subset & -subset
        inside[subset] = inside[subset ^ lowest] | masks[lowest.bit_length() - 1]
    # indices of the product of a subset, once those that nothing else has are summed
    kept = [inside[s] & (inside[everyone ^ s] | wanted) for s in range(everyone + 1)]
    best = [0] * (everyone + 1)
    for subset in range(1, everyone + 1):
        lowest, tied = subset & -subset, inside[(everyone ^ subset) & ~tensors]
        rest = other = subset ^ lowest  # the lowest stays here, so that each split comes once
        found: int | None = None
        while other:
            part = subset ^ other
            total = best[part] + best[other]
            if found is None or total < found:  # else too dear without its last step
                if part & tensors and other & tensors:
                    total += _step(kept[part], kept[other], kept[subset], tied, bits)
                found = total if found is None else min(found, total)
            other = (other - 1) & rest
        best[subset] = found or 0
    return best[everyone]


class _Bits:
    """Sets of indices as bits of a number, since one search makes millions of them, and what each one spans."""

    def __init__(self, atoms: Atoms, count: Count) -> None:
        self._bits = {atom: 1 << place for place, atom in enumerate(sorted(atoms))}
        self._count = count
        self._points: dict[int, int] = {}

    def mask(self, atoms: Atoms) -> int:
        return sum(self._bits[atom] for atom in atoms)

    def points(self, mask: int) -> int:
        if mask not in self._points:
            atoms = frozenset(atom for atom, bit in self._bits.items() if mask & bit)
            self._points[mask] = self._count(atoms)
        return self._points[mask]


def _step(left: int, right: int, result: int, tied: int, bits: _Bits) -> int:
    """Multiply-adds of one product of two tensors.

    Every element of one with every element of the other, to be summed by a selection later (``tied`` holds its
    indices), is a product with a sum all the same: a convolution of one channel is one.
    """
    both = left | right
    outer = both not in (left, right) and bool(both & tied)
    return bits.points(both) if outer or both & ~result else 0
