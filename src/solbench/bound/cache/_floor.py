"""A lower bound on the traffic of a matrix product that holds for every schedule.

Cut any schedule into phases of T transfers (reads, writes). In one phase at most X = S + T elements are
at hand: S that were in the cache when it began, and T more. By Loomis and Whitney (1949), ``a`` elements
of the left operand, ``b`` of the right one and ``c`` sums take part in at most √(a·b·c) ≤ (X / 3)^1.5
multiply-adds. A sum that a phase begins from zero counts like a read, since it is written in the end.
With T = 2S this gives 2·M·N·K / √S − 2S (Smith, Lowery, Langou, van de Geijn, "A tight I/O lower bound
for matrix multiplication", 2019); other T are tried as well, and the first phase begins with an empty
cache.
"""

from __future__ import annotations

from math import ceil, sqrt

_STEPS = 48
"""Phase lengths tried, from a quarter of the capacity to 64 times as much; each gives a bound that holds."""


def closed_form(macs: int, capacity: int) -> float:
    """2·macs / √S − 2S elements: the bound of the paper, which the search over phase lengths refines."""
    return 2 * macs / sqrt(capacity) - 2 * capacity


def least_traffic(macs: int, capacity: int) -> int:
    """Fewest elements read and written by any schedule of ``macs`` products a·b added into sums.

    ``capacity`` is the cache in elements. The operands lie outside it at first and are not computed on
    the fly; every sum is written in the end. The iteration space need not be dense: masked products are
    left out of ``macs``. Raises ``ValueError`` for a capacity below 1.
    """
    if capacity < 1:
        raise ValueError(f"a cache of {capacity} elements")
    lengths = {max(1, int(capacity * 2 ** (step / 6 - 2))) for step in range(_STEPS)}
    lengths |= {*range(1, 33), 2 * capacity}
    return max(_by_phases(macs, capacity, each) for each in lengths)


def _by_phases(macs: int, capacity: int, length: int) -> int:
    """``length`` transfers for every phase that must be complete before the work can be done."""
    first, later = _most_macs(length), _most_macs(capacity + length)
    if macs <= first:
        return 0
    return length * ceil((macs - first) / later)


def _most_macs(at_hand: int) -> float:
    """Rounded up a little: a bound must not gain from the last bit of a square root."""
    return float((at_hand / 3) ** 1.5) * (1 + 1e-12)
