"""The fewest multiply-adds that sums over pairs of positions take, whatever the schedule.

``out[i] = sum over the allowed j of (q[i] · k[j]) v[j]`` can be had pair by pair, or through states: sums of
``k[j] v[j]`` over some j, which every i reads as a whole. A running state is one schedule of this kind,
chunks with a state between them another, and so are chunks of several lengths. All of them choose positions i
that read a state and positions j that enter one; what is not both is multiplied pair by pair. Adding and
scaling states is vector work. The choice that costs least is a bound for every schedule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from solbench.bound import _bands
from solbench.bound._bands import Bands
from solbench.bound._sets import Indices, Mask

MAX_RUNS = 4
"""Most intervals a row, on average. States of a mask that is more scattered than that have to be put together
anew for every row, and a sum of so many states is no kernel's choice."""
SHARES = 16
"""Ways to divide the cost of a pair between its two positions that are tried."""
EXACT = 1 << 62


@dataclass(frozen=True, slots=True)
class Counts:
    """How many pairs every row and every column has."""

    rows: Indices
    columns: Indices

    @property
    def total(self) -> int:
        return int(self.rows.sum())

    @property
    def nested(self) -> bool:
        """Whether of two rows one always has all columns of the other: a triangle, a staircase, all.

        That is so if as many columns have at least n pairs as the n-th longest row has, for all n.
        """
        ordered = np.sort(self.rows)
        longest = int(ordered[-1]) if len(ordered) else 0
        held = len(ordered) - np.searchsorted(ordered, np.arange(1, longest + 1))
        columns = np.sort(self.columns[self.columns > 0])[::-1]
        return np.array_equal(held, columns)


SINGLE = Counts(np.ones(1, dtype=np.int64), np.ones(1, dtype=np.int64))
"""One pair."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Multiply-adds: of a pair, of a row that reads a state, of a column that enters one."""

    pair: Fraction
    row: Fraction
    column: Fraction


def parts(mask: Mask | Bands) -> list[Counts] | None:
    """Parts of a mask that share no row and no column; ``None`` if it is too scattered for states."""
    found = _bands.of_mask(mask)
    if found is not None:
        return [_of_bands(part, found.width) for part in _separate(found)]
    assert not isinstance(mask, Bands)
    turned = _bands.of_mask(mask.T)
    if turned is not None:
        columns = [_of_bands(part, turned.width) for part in _separate(turned)]
        return [Counts(c.columns, c.rows) for c in columns]
    starts = np.count_nonzero(mask[:, 1:] & ~mask[:, :-1]) + np.count_nonzero(mask[:, 0])
    if starts > MAX_RUNS * len(mask):
        return None
    return [Counts(mask.sum(axis=1, dtype=np.int64), mask.sum(axis=0, dtype=np.int64))]


def _separate(mask: Bands) -> Iterator[tuple[Indices, Indices]]:
    """(low, high) of the rows of each part."""
    filled = mask.low < mask.high
    low, high = mask.low[filled], mask.high[filled]
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    reach = np.maximum.accumulate(high)
    cuts = np.flatnonzero(low[1:] >= reach[:-1]) + 1
    yield from zip(np.split(low, cuts), np.split(high, cuts), strict=True)


def _of_bands(part: tuple[Indices, Indices], width: int) -> Counts:
    low, high = part
    steps = np.zeros(width + 1, dtype=np.int64)
    np.add.at(steps, low, 1)
    np.add.at(steps, high, -1)
    return Counts(high - low, np.cumsum(steps)[:-1])


def least(counts: Counts, prices: Prices) -> Fraction:
    """Fewest multiply-adds of one part of a mask (for a part that is not nested, no more than that)."""
    direct = prices.pair * counts.total
    if counts.nested:
        return direct - _nested_saving(counts.rows, prices)
    return min(direct, max(_divided(counts, prices, share) for share in range(SHARES + 1)))


def _nested_saving(rows: Indices, prices: Prices) -> Fraction:
    """What states save if the columns that enter them are the ``y`` fullest ones, for the best ``y``.

    Of nested rows each has the first columns of one order. A row with n pairs then has min(n, y) of them
    in the state, and reads it if that costs less.
    """
    *whole, unit = _whole(prices)
    ordered = np.sort(rows)
    most = max(whole) * (int(ordered.sum()) + len(rows))
    pair, row, column = np.array(whole, dtype=np.int64 if most < EXACT else np.float64)
    alone = np.concatenate([[0], np.cumsum(np.maximum(pair * ordered - row, 0))])
    chosen = np.arange(int(ordered[-1]) + 1 if len(ordered) else 1)
    shorter = np.searchsorted(ordered, chosen)
    longer = (len(ordered) - shorter) * np.maximum(pair * chosen - row, 0)
    best = (alone[shorter] + longer - column * chosen).max()
    return Fraction(best.item()) * unit


def _whole(prices: Prices) -> tuple[int, int, int, Fraction]:
    """Prices as small whole numbers of a unit."""
    each = (prices.pair, prices.row, prices.column)
    scale = 1
    for price in each:
        scale = scale * price.denominator // gcd(scale, price.denominator)
    pair, row, column = (int(price * scale) for price in each)
    shared = gcd(pair, row, column) or 1
    return pair // shared, row // shared, column // shared, Fraction(shared, scale)


def _divided(counts: Counts, prices: Prices, share: int) -> Fraction:
    """A bound: every pair's cost is divided between its row and its column.

    A pair is paid for, or its row is, and its column as well. So a row costs at least the smaller of its
    state and its share of all its pairs, and so does a column.
    """
    part = Fraction(share, SHARES)
    total = Fraction(0)
    for lengths, price, own in (
        (counts.rows, prices.row, prices.pair * part),
        (counts.columns, prices.column, prices.pair * (1 - part)),
    ):
        sizes, often = np.unique(lengths, return_counts=True)
        total += sum(
            (min(price, own * int(n)) * int(times) for n, times in zip(sizes, often, strict=True)),
            Fraction(0),
        )
    return total


def restricted(mask: Mask | Bands, rows: Indices, columns: Indices, turned: bool) -> Mask | Bands:
    """The mask at some rows and columns only; ``turned``: the mask has columns first."""
    if turned:
        rows, columns = columns, rows
    if isinstance(mask, Bands):
        before = np.zeros(mask.width + 1, dtype=np.int64)
        before[columns + 1] = 1
        before = np.cumsum(before)
        kept: Mask | Bands = _bands.bands(
            before[mask.low[rows]], before[mask.high[rows]], len(columns)
        )
    else:
        whole = mask.shape == (len(rows), len(columns))
        kept = mask if whole else mask[np.ix_(rows, columns)]
    if not turned:
        return kept
    return transposed(kept)


def transposed(mask: Mask | Bands) -> Mask | Bands:
    """The mask with rows and columns exchanged."""
    if not isinstance(mask, Bands):
        return mask.T
    other = mask.transposed()
    return other if other is not None else mask.dense().T
