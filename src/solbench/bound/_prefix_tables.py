"""Numbers and masks over pairs of positions: what a table of numbers is, and where one mask lies in another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _bands
from solbench.bound._bands import Bands
from solbench.bound._sets import Mask

TINY = 1e-36
"""Powers of a decay end in numbers as small as this, and are no longer exact."""


def is_separate(table: NDArray[Any], mask: Mask, tolerance: float, *, sums: bool) -> bool:
    """Whether each row is the one before it plus a number (times a factor), where both matter."""
    both = mask[1:] & mask[:-1]
    upper, lower = table[:-1], table[1:]
    if not np.isfinite(table[mask]).all():
        return False
    size = np.where(both, np.maximum(np.abs(upper), np.abs(lower)), -1.0)
    pivot = size.argmax(axis=1)[:, None]
    first, second = (np.take_along_axis(t, pivot, axis=1) for t in (upper, lower))
    if sums:
        error = np.abs((lower - upper) - (second - first))
        scale = np.take_along_axis(size, pivot, axis=1)
        allowed = tolerance * np.maximum(scale, 0) * 2
    else:
        left, right = lower * first, upper * second
        error = np.abs(left - right)
        scale = np.maximum(np.abs(first), np.abs(second))
        allowed = tolerance * np.maximum(np.abs(left), np.abs(right)) + TINY * scale
    return bool((~both | (error <= allowed)).all())


def contains(mask: Mask | Bands, pairs: Mask | Bands | None, *, turned: bool) -> bool:
    """Whether a mask (columns first if ``turned``) holds at all pairs."""
    if pairs is None:
        return bool(mask.all())
    if mask is pairs and not turned:
        return True
    if not isinstance(mask, Bands) and not isinstance(pairs, Bands):
        return bool((~pairs | (mask.T if turned else mask)).all())
    outer, inner = oriented(mask, turned=turned), _bands.of_mask(pairs)
    if outer is None or inner is None:
        return False
    used = inner.low < inner.high
    return bool(((outer.low <= inner.low) & (outer.high >= inner.high))[used].all())


def oriented(mask: Mask | Bands, *, turned: bool) -> Bands | None:
    """One interval a row, of the mask or of its transpose."""
    if not turned:
        return _bands.of_mask(mask)
    return mask.transposed() if isinstance(mask, Bands) else _bands.of_mask(mask.T)
