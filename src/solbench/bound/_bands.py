"""Masks of two dimensions as one interval a row: what causal, window and padding masks are, at any length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _sets
from solbench.bound._sets import IndexSet, Indices, Mask

DENSE_ELEMENTS = 1 << 22
"""Triangles up to this size are spelled out: then every operation on masks is exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Bands:
    """Row ``i`` holds on the columns ``low[i] <= j < high[i]``; use ``bands`` to make one."""

    low: Indices
    high: Indices
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.low), self.width

    @property
    def ndim(self) -> int:
        return 2

    def any(self) -> bool:
        return bool((self.low < self.high).any())

    def all(self) -> bool:
        return bool((self.low == 0).all() and (self.high == self.width).all())

    def dense(self) -> Mask:
        """Spelled out: for sizes that allow it."""
        columns = np.arange(self.width)
        mask: Mask = (columns >= self.low[:, None]) & (columns < self.high[:, None])
        return mask

    def complement(self) -> Bands | None:
        """The other positions; ``None`` if some row has them on both sides."""
        first, last = self.low == 0, self.high == self.width
        empty = self.low >= self.high
        if not bool((first | last | empty).all()):
            return None
        low = np.where(empty, 0, np.where(first, self.high, 0))
        high = np.where(empty, self.width, np.where(first, self.width, self.low))
        return bands(low, high, self.width)

    def intersect(self, other: Bands) -> Bands:
        return bands(np.maximum(self.low, other.low), np.minimum(self.high, other.high), self.width)

    def transposed(self) -> Bands | None:
        """One interval a column; ``None`` if the rows' ends do not grow with the row."""
        rows = np.flatnonzero(self.low < self.high)
        if len(rows) == 0:
            nothing = np.zeros(self.width, dtype=np.int64)
            return bands(nothing, nothing, len(self.low))
        low, high = self.low[rows], self.high[rows]
        falls = bool((np.diff(low) < 0).any() or (np.diff(high) < 0).any())
        if falls or rows[-1] - rows[0] + 1 != len(rows):
            return None
        columns = np.arange(self.width)
        first = np.searchsorted(high, columns, "right") + rows[0]
        last = np.searchsorted(low, columns, "right") + rows[0]
        return bands(first, last, len(self.low))

    def any_along(self, axis: int, within: IndexSet) -> Mask:
        """Per index of the other axis: whether some index in ``within`` of this one holds."""
        if axis == 1:
            before = prefix_sums(_sets.to_mask(within, self.width))
            found: Mask = before[np.maximum(self.high, self.low)] > before[self.low]
            return found
        rows = _sets.to_array(within)
        low, high = self.low[rows], self.high[rows]
        filled = low < high
        steps = np.zeros(self.width + 1, dtype=np.int64)
        np.add.at(steps, low[filled], 1)
        np.add.at(steps, high[filled], -1)
        covered: Mask = np.cumsum(steps)[:-1] > 0
        return covered

    def all_along(self, axis: int) -> Mask:
        """Per index of the other axis: whether all indices of this one hold."""
        if axis == 1:
            whole: Mask = (self.low == 0) & (self.high == self.width)
            return whole
        columns = np.arange(self.width)
        held: Mask = (columns >= self.low.max(initial=0)) & (
            columns < self.high.min(initial=self.width)
        )
        return held

    def weighted_count(self, rows: NDArray[Any], columns: NDArray[Any]) -> int:
        """Sum over the positions that hold of ``rows[i] * columns[j]``."""
        before = prefix_sums(columns)
        lines = before[np.maximum(self.high, self.low)] - before[self.low]
        return int(np.dot(np.asarray(rows, dtype=np.int64), lines))

    def moved(self, rows: Indices, start: int, width: int) -> Bands:
        """Row ``i`` becomes ``rows[i]`` of this mask, column ``j`` its column ``start + j``."""
        low, high = self.low[rows] - start, self.high[rows] - start
        return bands(low, high, width)

    def column(self, index: int) -> Mask:
        held: Mask = (self.low <= index) & (index < self.high)
        return held

    def row(self, index: int) -> Mask:
        columns = np.arange(self.width)
        held: Mask = (columns >= self.low[index]) & (columns < self.high[index])
        return held

    def equals(self, other: Bands) -> bool:
        return (
            self.width == other.width
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
        )


def bands(low: Indices, high: Indices, width: int) -> Bands:
    """Intervals cut to the width; empty ones are ``[0, 0)``."""
    low = np.clip(np.asarray(low, dtype=np.int64), 0, width)
    high = np.clip(np.asarray(high, dtype=np.int64), 0, width)
    empty = low >= high
    return Bands(np.where(empty, 0, low), np.where(empty, 0, high), width)


def of_mask(mask: Mask | Bands) -> Bands | None:
    """A mask of two dimensions with one interval a row; ``None`` if a row has more."""
    if isinstance(mask, Bands):
        return mask
    if mask.ndim != 2:
        return None
    starts = np.count_nonzero(mask[:, 1:] > mask[:, :-1], axis=1) + mask[:, :1].sum(axis=1)
    if bool((starts > 1).any()):
        return None
    low = mask.argmax(axis=1)
    return bands(low, low + np.count_nonzero(mask, axis=1), mask.shape[1])


def triangle(rows: int, columns: int, diagonal: int, *, lower: bool) -> Bands:
    """The triangle on and below (or above) a diagonal."""
    edge = np.arange(rows, dtype=np.int64) + diagonal
    if lower:
        return bands(np.zeros(rows, dtype=np.int64), edge + 1, columns)
    return bands(edge, np.full(rows, columns, dtype=np.int64), columns)


def prefix_sums(line: NDArray[Any]) -> Indices:
    """Sum of everything before each position, and of all."""
    total: Indices = np.concatenate([[0], np.cumsum(line, dtype=np.int64)])
    return total
