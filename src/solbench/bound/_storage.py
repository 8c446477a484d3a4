"""Distinct elements of memory that regions of tensors touch, where tensors may be views of one storage."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from solbench.bound import _access, _region, _sets
from solbench.bound._access import Along, Fixed
from solbench.bound._region import Region
from solbench.bound._sets import DENSE_LIMIT
from solbench.bound.graph import Value

Touched = tuple[Value, Region]


def distinct_bytes(touched: Sequence[Touched]) -> int:
    """Bytes of one storage in the union of the regions."""
    touched = [(v, r) for v, r in touched if not r.is_empty]
    if not touched:
        return 0
    layouts = {(v.shape, v.stride, v.storage_offset, v.dtype) for v, _ in touched}
    if len(layouts) == 1:
        value = touched[0][0]
        if _injective(value):
            region = _region.unite(value.shape, [r for _, r in touched])
            return _project(value, region).count() * value.dtype.itemsize
    return _mixed(touched)


def _project(value: Value, region: Region) -> Region:
    """Dimensions of stride 0 hold the same elements at every index."""
    if all(s != 0 or n == 1 for s, n in zip(value.stride, value.shape, strict=True)):
        return region
    axes = tuple(Fixed() if s == 0 else Along(d) for d, s in enumerate(value.stride))
    return _access.pull(region, axes, value.shape)


def _injective(value: Value) -> bool:
    """Whether different indices (apart from stride 0) are different elements."""
    reach = 0
    for stride, size in sorted(zip(value.stride, value.shape, strict=True)):
        if stride == 0 or size == 1:
            continue
        if stride <= reach:
            return False
        reach += stride * (size - 1)
    return True


def _extent(value: Value) -> int:
    return sum(s * (n - 1) for s, n in zip(value.stride, value.shape, strict=True)) + 1


def _mixed(touched: Sequence[Touched]) -> int:
    """Several layouts of one storage, or one that overlaps itself: mark the elements."""
    unit = min(v.dtype.itemsize for v, _ in touched)
    ends = [(v.storage_offset + _extent(v)) * v.dtype.itemsize // unit for v, _ in touched]
    starts = [v.storage_offset * v.dtype.itemsize // unit for v, _ in touched]
    if all(_dense(v) and r.is_full for v, r in touched):
        spans = [range(a, b) for a, b in zip(starts, ends, strict=True)]
        return len(_union_length(spans)) * unit
    low = min(starts)
    if max(ends) - low > DENSE_LIMIT:
        return max(distinct_bytes([t]) if _injective(t[0]) else 0 for t in touched)
    marks = np.zeros(max(ends) - low, dtype=np.bool_)
    for value, region in touched:
        _mark(marks, value, region, unit, low)
    return int(np.count_nonzero(marks)) * unit


def _union_length(spans: list[range]) -> _sets.IndexSet:
    return _sets.unite(spans)


def _dense(value: Value) -> bool:
    return _injective(value) and 0 not in value.stride and _extent(value) == prod(value.shape)


def _mark(marks: _sets.Mask, value: Value, region: Region, unit: int, low: int) -> None:
    scale = value.dtype.itemsize // unit
    offset = value.storage_offset * scale - low
    for box in region.boxes:
        flat = np.zeros(1, dtype=np.int64) + offset
        inside = np.ones(1, dtype=np.bool_)
        for dim, indices in enumerate(box.sets):
            step = value.stride[dim] * scale
            flat = np.add.outer(flat, _sets.to_array(indices) * step)
        if box.joints:
            member = _region.membership(box, tuple(range(len(box.sets))), value.shape)
            member = np.broadcast_to(member, value.shape)
            inside = _region.cut(member, box.sets)
        chosen = flat.reshape(-1)[np.broadcast_to(inside.reshape(-1), flat.size)]
        for part in range(scale):
            marks[chosen + part] = True
