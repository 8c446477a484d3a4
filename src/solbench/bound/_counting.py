"""How many positions boxes and their unions have, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _sets
from solbench.bound._bands import Bands
from solbench.bound._boxes import Box, Joint, Shape, cut, membership, overlapping
from solbench.bound._sets import DENSE_LIMIT, IndexSet

Weights = Mapping[int, NDArray[Any]]

FEW_BOXES = 16
"""A table of all bit sets of so many boxes is small; counting into it needs no sorting."""

AT_ONCE = 1 << 20
"""Positions of a mask that are counted at a time: counting takes many times the memory of the mask."""


def count_box(box: Box, weights: Weights) -> int:
    """Size of one box, or its weighted sum."""
    if overlapping(box):
        return _count_overlapping(box, weights)
    total = 1
    joined: set[int] = set()
    for joint in box.joints:
        joined.update(joint.dims)
        if isinstance(joint.mask, Bands):
            rows, columns = (_line(box, d, joint, weights) for d in joint.dims)
            total *= joint.mask.weighted_count(rows, columns)
            continue
        part: NDArray[Any] = cut(joint.mask, [box.sets[d] for d in joint.dims])
        if any(d in weights for d in joint.dims):
            for axis, dim in enumerate(joint.dims):
                if dim in weights:
                    chosen = weights[dim][_sets.to_array(box.sets[dim])]
                    part = part * chosen.reshape([-1 if a == axis else 1 for a in range(part.ndim)])
            total *= int(part.sum())
        else:
            total *= int(np.count_nonzero(part))
    for dim, indices in enumerate(box.sets):
        if dim not in joined:
            total *= _weight(indices, weights.get(dim))
    return total


def _line(box: Box, dim: int, joint: Joint, weights: Weights) -> NDArray[Any]:
    """Weight of every index of a dimension of a joint; 0 outside the box."""
    size = joint.mask.shape[joint.dims.index(dim)]
    inside = _sets.to_mask(box.sets[dim], size)
    return inside * weights[dim] if dim in weights else inside.astype(np.int64)


def _count_overlapping(box: Box, weights: Weights) -> int:
    """An einsum over the masks, one dimension summed after the other; exact below 2**53."""
    large = [j for j in box.joints if not j.holdable]
    if large:
        return _count_beside(box, large, weights)
    factors: list[tuple[tuple[int, ...], NDArray[np.float64]]] = [
        (j.dims, cut(j.dense(), [box.sets[d] for d in j.dims]).astype(np.float64))
        for j in box.joints
    ]
    joined = {d for dims, _ in factors for d in dims}
    for dim in joined & set(weights):
        factors.append(((dim,), weights[dim][_sets.to_array(box.sets[dim])].astype(np.float64)))
    total = prod(_weight(s, weights.get(d)) for d, s in enumerate(box.sets) if d not in joined)
    while any(dims for dims, _ in factors):
        factors = _sum_out(factors)
    return total * round(prod(float(f) for _, f in factors))


def _count_beside(box: Box, large: Sequence[Joint], weights: Weights) -> int:
    """One mask of intervals, and small ones that share one dimension with it: those become its weights.

    Zero, the least possible, for any other form.
    """
    joint, small = large[0], [j for j in box.joints if j is not large[0]]
    assert isinstance(joint.mask, Bands)
    dims = [d for j in small for d in j.dims]
    shared = [[d for d in j.dims if d in joint.dims] for j in small]
    alone = [d for d in dims if d not in joint.dims]
    if len(large) > 1 or any(len(s) != 1 for s in shared) or len(set(alone)) != len(alone):
        return 0
    lines = {d: _line(box, d, joint, weights) for d in joint.dims}
    for each, (dim,) in zip(small, shared, strict=True):
        mask: NDArray[Any] = each.dense().astype(np.int64)
        for axis, other in enumerate(each.dims):
            if other != dim:
                own = _line(box, other, each, weights)
                mask = mask * own.reshape([-1 if a == axis else 1 for a in range(mask.ndim)])
        lost = tuple(a for a, d in enumerate(each.dims) if d != dim)
        lines[dim] = lines[dim] * mask.sum(axis=lost)
    rest = (d for d in range(len(box.sets)) if d not in dims and d not in joint.dims)
    total = prod(_weight(box.sets[d], weights.get(d)) for d in rest)
    return total * joint.mask.weighted_count(*(lines[d] for d in joint.dims))


def _sum_out(
    factors: list[tuple[tuple[int, ...], NDArray[np.float64]]],
) -> list[tuple[tuple[int, ...], NDArray[np.float64]]]:
    """Sum over the dimension that leaves the smallest result."""
    choices = {}
    for dim in {d for dims, _ in factors for d in dims}:
        touched = {d for dims, _ in factors if dim in dims for d in dims}
        choices[dim] = len(touched)
    chosen = min(choices, key=lambda d: (choices[d], d))
    used = [f for f in factors if chosen in f[0]]
    rest = [f for f in factors if chosen not in f[0]]
    kept = tuple(sorted({d for dims, _ in used for d in dims} - {chosen}))
    letters = {d: chr(ord("a") + i) for i, d in enumerate(sorted({*kept, chosen}))}
    terms = ["".join(letters[d] for d in dims) for dims in [*(dims for dims, _ in used), kept]]
    equation = ",".join(terms[:-1]) + "->" + terms[-1]
    return [*rest, (kept, np.einsum(equation, *(mask for _, mask in used), optimize=True))]


def _weight(indices: IndexSet, weights: NDArray[Any] | None) -> int:
    if weights is None:
        return len(indices)
    return int(weights[_sets.to_array(indices)].sum())


def count(boxes: Sequence[Box], shape: Shape, weights: Weights) -> int:
    """Exact size of a union of boxes.

    Each dimension (or group of jointly masked dimensions) is split into classes of indices that lie in
    the same boxes; a class is a bit set of boxes. The product over dimensions then only needs the
    intersections of bit sets: a position counts if its intersection is not empty.
    """
    if len(boxes) < 2:
        return sum(count_box(b, weights) for b in boxes)
    groups = _groups(boxes, shape)
    too_large = any(len(g) > 1 and prod(shape[d] for d in g) > DENSE_LIMIT for g in groups) or any(
        shape[g[0]] > DENSE_LIMIT and not _plain(boxes, g[0]) for g in groups
    )
    if too_large or len(boxes) > 62:
        return max(count_box(b, weights) for b in boxes)
    totals = {(1 << len(boxes)) - 1: 1}
    for group in groups:
        totals = _combine(totals, _classes(boxes, shape, group, weights))
    return sum(totals.values())


def _combine(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    result: dict[int, int] = {}
    for code, amount in left.items():
        for other, times in right.items():
            if code & other:
                result[code & other] = result.get(code & other, 0) + amount * times
    return result


def _groups(boxes: Sequence[Box], shape: Shape) -> list[tuple[int, ...]]:
    groups = [{d} for d in range(len(shape))]
    for box in boxes:
        for joint in box.joints:
            touched = [g for g in groups if g & set(joint.dims)]
            groups = [g for g in groups if not g & set(joint.dims)] + [set().union(*touched)]
    return [tuple(sorted(g)) for g in groups]


def _plain(boxes: Sequence[Box], dim: int) -> bool:
    return all(isinstance(s := b.sets[dim], range) and s.step == 1 for b in boxes)


def _classes(
    boxes: Sequence[Box], shape: Shape, group: tuple[int, ...], weights: Weights
) -> dict[int, int]:
    """Bit set of boxes → number (or weight) of the group's positions that lie in exactly those."""
    if len(group) == 1:
        dim = group[0]
        first = boxes[0].sets[dim]
        if all(_sets.equal(first, b.sets[dim]) for b in boxes):
            return {(1 << len(boxes)) - 1: _weight(first, weights.get(dim))}
        if dim not in weights and _plain(boxes, dim):
            return _span_classes([b.sets[dim] for b in boxes])
    codes = np.zeros([shape[d] for d in group], dtype=_narrow(len(boxes)))
    for bit, box in enumerate(boxes):
        codes |= membership(box, group, shape).astype(codes.dtype) << codes.dtype.type(bit)
    lines = {axis: weights[dim] for axis, dim in enumerate(group) if dim in weights}
    return _amounts(codes, lines, small=len(boxes) <= FEW_BOXES)


def _narrow(bits: int) -> np.dtype[Any]:
    """A mask of bit sets may have 2^26 of them."""
    return np.dtype(np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.int64)


def _amounts(
    codes: NDArray[Any], lines: Mapping[int, NDArray[Any]], *, small: bool
) -> dict[int, int]:
    """Bit set → number of positions with it, or the sum of their weights, some rows after the other.

    ``lines``: axis → weights along it. ``small``: a table of all bit sets is.
    """
    totals: dict[int, int] = {}
    rows = max(1, AT_ONCE // max(1, prod(codes.shape[1:])))
    for first in range(0, len(codes), rows):
        part = codes[first : first + rows]
        weighted: NDArray[Any] | None = None
        for axis, line in lines.items():
            own = line[first : first + rows] if axis == 0 else line
            own = own.reshape([-1 if a == axis else 1 for a in range(part.ndim)])
            weighted = np.ones(part.shape) * own if weighted is None else weighted * own
        flat = part.reshape(-1)
        found, place = (None, flat) if small else np.unique(flat, return_inverse=True)
        sums = np.bincount(place, None if weighted is None else weighted.reshape(-1))
        for at in np.flatnonzero(sums):
            code = int(at if found is None else found[at])
            totals[code] = totals.get(code, 0) + round(float(sums[at]))
    totals.pop(0, None)
    return totals


def _span_classes(spans: Sequence[IndexSet]) -> dict[int, int]:
    edges = sorted({e for s in spans if isinstance(s, range) for e in (s.start, s.stop)})
    result: dict[int, int] = {}
    for low, high in pairwise(edges):
        code = sum(1 << bit for bit, s in enumerate(spans) if low in s)
        if code:
            result[code] = result.get(code, 0) + high - low
    return result
