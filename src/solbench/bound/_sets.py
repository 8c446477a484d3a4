"""Sets of indices along one dimension: a ``range`` where they form a progression, else a sorted array.

Everything a region is made of. All functions return canonical sets (a progression is always a
``range`` with a positive step), so that equality of ranges is equality of sets.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
IndexSet = range | Indices

EMPTY = range(0)
DENSE_LIMIT = 1 << 26
"""Most elements of a mask or explicit index list: 64 MiB of booleans."""

MARKED_FROM = 1 << 16
"""Lists of more indices than this are sorted by marking them in a mask."""


def from_sorted(indices: Indices) -> IndexSet:
    """Canonical form of a sorted array without repeats."""
    count = len(indices)
    if count == 0:
        return EMPTY
    first, last = int(indices[0]), int(indices[-1])
    if count == 1:
        return range(first, first + 1)
    step = int(indices[1]) - first
    if first + step * (count - 1) == last and (
        count == 2 or bool((np.diff(indices) == step).all())
    ):
        return range(first, last + 1, step)
    return indices


def from_indices(indices: Indices) -> IndexSet:
    """Canonical form of any array of indices, none negative."""
    last = int(indices.max()) if indices.size > MARKED_FROM else 0
    if 0 < last <= min(DENSE_LIMIT, 16 * indices.size):  # marking is faster than sorting
        marked = np.zeros(last + 1, dtype=np.bool_)
        marked[indices.reshape(-1)] = True
        return from_mask(marked)
    return from_sorted(np.unique(np.asarray(indices, dtype=np.int64).reshape(-1)))


def from_range(start: int, stop: int, step: int = 1) -> IndexSet:
    """``range`` with a canonical stop, so that equal sets compare equal."""
    count = len(range(start, stop, step))
    if count == 0:
        return EMPTY
    if count == 1:
        return range(start, start + 1)
    return range(start, start + step * (count - 1) + 1, step)


def from_mask(mask: Mask) -> IndexSet:
    """Positions where a 1-D mask is true."""
    if mask.all():
        return range(len(mask))
    return from_sorted(np.flatnonzero(mask).astype(np.int64))


def to_array(indices: IndexSet) -> Indices:
    """The indices themselves."""
    if isinstance(indices, range):
        return np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
    return indices


def to_mask(indices: IndexSet, size: int) -> Mask:
    """Boolean membership over ``range(size)``."""
    mask = np.zeros(size, dtype=np.bool_)
    if isinstance(indices, range):
        mask[indices.start : indices.stop : indices.step] = True
    else:
        mask[indices] = True
    return mask


def is_full(indices: IndexSet, size: int) -> bool:
    return len(indices) == size


def equal(left: IndexSet, right: IndexSet) -> bool:
    if isinstance(left, range) or isinstance(right, range):
        return isinstance(left, range) and isinstance(right, range) and left == right
    return left is right or (len(left) == len(right) and bool((left == right).all()))


def contains(outer: IndexSet, inner: IndexSet) -> bool:
    return len(intersect(outer, inner)) == len(inner)


def intersect(left: IndexSet, right: IndexSet) -> IndexSet:
    if left is right:
        return left
    if isinstance(left, range) and isinstance(right, range):
        return _intersect_ranges(left, right)
    if isinstance(left, range):
        left, right = right, left
    assert not isinstance(left, range)
    if isinstance(right, range):
        inside = (left >= right.start) & (left < right.stop)
        if right.step != 1:
            inside &= (left - right.start) % right.step == 0
        return from_sorted(left[inside])
    return from_sorted(np.intersect1d(left, right, assume_unique=True))


def _intersect_ranges(left: range, right: range) -> IndexSet:
    if left == right:
        return left
    if left.step == 1 and right.step == 1:
        return from_range(max(left.start, right.start), min(left.stop, right.stop))
    if right.step != 1 and left.step == 1:
        left, right = right, left
    if right.step == 1:
        skipped = max(0, -(-(right.start - left.start) // left.step))
        return from_range(left.start + skipped * left.step, min(left.stop, right.stop), left.step)
    short, long = sorted((left, right), key=len)
    return intersect(to_array(short), long)


def subtract(left: IndexSet, right: IndexSet) -> IndexSet:
    common = intersect(left, right)
    if len(common) == 0:
        return left
    if len(common) == len(left):
        return EMPTY
    if isinstance(left, range) and isinstance(common, range) and left.step == common.step:
        if common.start == left.start:
            return from_range(common.stop - 1 + left.step, left.stop, left.step)
        if common.stop == left.stop:
            return from_range(left.start, common.start, left.step)
    if isinstance(left, range) and isinstance(common, range) and left.step == 1:
        first, last = common[0] - left.start, left.stop - 1 - common[-1]
        if common.step == 2 and first < 2 and last < 2:  # every other one is left
            return from_range(left.start + 1 - first, left.stop, 2)
    return from_sorted(np.setdiff1d(to_array(left), to_array(common), assume_unique=True))


def unite(sets: Sequence[IndexSet]) -> IndexSet:
    """Union of any number of sets."""
    if len(sets) == 1:
        return sets[0]
    spans = [s for s in sets if isinstance(s, range) and (s.step == 1 or len(s) == 1)]
    if len(spans) == len(sets):
        merged = _merge_spans(spans)
        if len(merged) == 1:
            return merged[0]
        sets = merged
    return from_indices(np.concatenate([to_array(s) for s in sets]))


def _merge_spans(spans: list[range]) -> list[range]:
    merged: list[range] = []
    for span in sorted((s for s in spans if len(s)), key=lambda s: s.start):
        if merged and span.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, span.stop))
        else:
            merged.append(span)
    return merged or [EMPTY]


def affine(indices: IndexSet, start: int, step: int) -> IndexSet:
    """``{start + step * i}`` for a step that is not zero."""
    if isinstance(indices, range) and len(indices):
        first, last = start + step * indices[0], start + step * indices[-1]
        low, high = min(first, last), max(first, last)
        return from_range(low, high + 1, max(1, abs(step) * indices.step))
    mapped = start + step * to_array(indices)
    return from_sorted(mapped if step > 0 else mapped[::-1])


def through_table(indices: IndexSet, table: Indices) -> IndexSet:
    """``{table[i]}``."""
    if isinstance(indices, range) and indices.step == 1:
        return from_indices(table[indices.start : indices.stop])
    return from_indices(table[to_array(indices)])


def key(indices: IndexSet) -> tuple[object, ...]:
    """Hashable identity of the set."""
    if isinstance(indices, range):
        return (indices.start, indices.stop, indices.step)
    return (len(indices), indices.tobytes())
