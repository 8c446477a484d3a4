"""Regions through a reshape: dimensions are split into groups with equal products, mapped group by group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _bands, _region, _reps, _sets
from solbench.bound._region import Box, Joint, Region, Shape
from solbench.bound._reps import Rep
from solbench.bound._sets import DENSE_LIMIT, IndexSet, Mask

Group = tuple[tuple[int, ...], tuple[int, ...]]
Sets = tuple[IndexSet, ...]


@lru_cache(maxsize=4096)
def groups(source: Shape, target: Shape) -> tuple[Group, ...]:
    """Smallest groups of dimensions (size 1 left out) with the same number of elements."""
    left = [d for d, n in enumerate(source) if n != 1]
    right = [d for d, n in enumerate(target) if n != 1]
    result: list[Group] = []
    while left or right:
        mine, theirs = [left.pop(0)], [right.pop(0)]
        while (a := prod(source[d] for d in mine)) != (b := prod(target[d] for d in theirs)):
            (mine if a < b else theirs).append((left if a < b else right).pop(0))
        result.append((tuple(mine), tuple(theirs)))
    return tuple(result)


def through(region: Region, target: Shape) -> Region:
    """The same elements as a region of ``target``."""
    if region.is_full:
        return _region.full(target)
    boxes: list[Box | None] = []
    for box in region.boxes:
        boxes += through_box(box, region.shape, target)
    return _region.of_boxes(target, boxes)


def through_box(box: Box, source: Shape, target: Shape) -> list[Box | None]:
    """One box, as one or more boxes of ``target``."""
    regrouped = {d for g in groups(source, target) if len(g[0]) + len(g[1]) > 2 for d in g[0]}
    if any(regrouped & set(j.dims) for j in box.joints):
        apart = _region.separate(box, source)
        if apart is None:
            return []
        box = apart
    sets: list[IndexSet] = [range(n) for n in target]
    joints: list[Joint] = []
    choices: list[tuple[tuple[int, ...], list[Sets]]] = []
    simple: dict[int, int] = {}
    pending: list[Group] = []
    for mine, theirs in groups(source, target):
        if len(mine) == len(theirs) == 1:
            simple[mine[0]] = theirs[0]
            sets[theirs[0]] = box.sets[mine[0]]
        else:
            pending.append((mine, theirs))
    for cluster in _clusters([_region.without_ones(j) for j in box.joints], pending):
        involved = [g for g in pending if any(set(g[0]) & set(j.dims) for j in cluster)]
        if involved:
            pending = [g for g in pending if g not in involved]
        joints.append(_through_joint(cluster, box, involved, simple, source, target))
    for mine, theirs in pending:
        flat = _flatten([box.sets[d] for d in mine], [source[d] for d in mine])
        parts = _unflatten(flat, tuple(target[d] for d in theirs))
        if isinstance(parts, np.ndarray):
            joints.append(Joint(theirs, parts))
        else:
            choices.append((theirs, parts))
    result = []
    for chosen in product(*[parts for _, parts in choices]):
        for (dims, _), part in zip(choices, chosen, strict=True):
            for dim, indices in zip(dims, part, strict=True):
                sets[dim] = indices
        result.append(_region.make_box(sets, joints, target))
    return result


def _clusters(joints: Sequence[Joint], groups_left: Sequence[Group]) -> list[list[Joint]]:
    """Joints by the groups that they meet: those of one group become one mask."""
    clusters: list[tuple[set[int], list[Joint]]] = []
    for joint in joints:
        met = {i for i, g in enumerate(groups_left) if set(g[0]) & set(joint.dims)}
        mine = [joint]
        for other in [c for c in clusters if c[0] & met]:
            clusters.remove(other)
            met |= other[0]
            mine = other[1] + mine
        clusters.append((met, mine))
    return [cluster for _, cluster in clusters]


def _through_joint(
    cluster: Sequence[Joint],
    box: Box,
    involved: Sequence[Group],
    simple: dict[int, int],
    source: Shape,
    target: Shape,
) -> Joint:
    """Joints, with the groups that they touch spelled out as one dense mask."""
    joint = cluster[0]
    alone = [d for d in dict.fromkeys(d for j in cluster for d in j.dims) if d in simple]
    mine = [*alone, *(d for g in involved for d in g[0])]
    theirs = [*(simple[d] for d in alone), *(d for g in involved for d in g[1])]
    if not involved:
        return Joint(tuple(simple[d] for d in joint.dims), joint.mask)
    dims = tuple(sorted(mine))
    if prod(source[d] for d in dims) > DENSE_LIMIT:
        banded = None
        if len(cluster) == 1:
            banded = _through_bands(joint, box, involved, simple, source, target)
        # Nothing, the safe side, if it cannot be followed.
        return banded or Joint(tuple(theirs[:1]), np.zeros(target[theirs[0]], dtype=np.bool_))
    only = Box(box.sets, tuple(cluster))
    member = np.broadcast_to(_region.membership(only, dims, source), [source[d] for d in dims])
    member = np.transpose(member, [dims.index(d) for d in mine])
    return Joint(tuple(theirs), member.reshape([target[d] for d in theirs]))


def _through_bands(
    joint: Joint,
    box: Box,
    involved: Sequence[Group],
    simple: dict[int, int],
    source: Shape,
    target: Shape,
) -> Joint | None:
    """One interval a row, where the rows alone are merged with other dimensions, or split into some.

    A causal mask over query and key, once heads are folded into the rows of a product: the same interval for
    every head.
    """
    rows = [d for d in joint.dims if d not in simple]
    if len(joint.dims) != 2 or len(rows) != 1 or len(involved) != 1:
        return None
    column = next(d for d in joint.dims if d in simple)
    lines = _bands.of_mask(joint.mask)
    if lines is not None and joint.dims[0] != rows[0]:
        lines = lines.transposed()
    (mine, theirs) = involved[0]
    if lines is None:
        return None
    sizes = tuple(source[d] for d in mine)
    places = np.unravel_index(np.arange(prod(sizes)), sizes)
    own = places[mine.index(rows[0])]
    held = np.ones(len(own), dtype=np.bool_)
    for dim, place in zip(mine, places, strict=True):
        held &= _sets.to_mask(box.sets[dim], source[dim])[place]
    low, high = (np.where(held, ends[own], 0) for ends in (lines.low, lines.high))
    axis = _only_axis(np.stack([low, high]).reshape(2, *(target[d] for d in theirs)))
    if axis is None:
        return None
    shape = tuple(target[d] for d in theirs)
    lines = _bands.bands(_along(low, axis, shape), _along(high, axis, shape), source[column])
    return Joint((theirs[axis], simple[column]), lines)


def _only_axis(ends: NDArray[Any]) -> int | None:
    """The one axis (the leading one not counted) that the values depend on; ``None`` if there are more."""
    varying = [
        axis
        for axis in range(ends.ndim - 1)
        if bool((ends != np.take(ends, [0], axis=axis + 1)).any())
    ]
    if len(varying) > 1:
        return None
    return varying[0] if varying else 0


def _along(ends: NDArray[Any], axis: int, shape: Shape) -> NDArray[Any]:
    index = tuple(slice(None) if d == axis else 0 for d in range(len(shape)))
    line: NDArray[Any] = ends.reshape(shape)[index]
    return line


def _flatten(sets: Sequence[IndexSet], sizes: Sequence[int]) -> IndexSet:
    """Flat indices of a product of sets."""
    flat: IndexSet = range(1)
    inner = 1
    for indices, size in zip(reversed(sets), reversed(sizes), strict=True):
        if len(flat) == inner and isinstance(indices, range) and indices.step == 1:
            flat = range(indices.start * inner, indices.stop * inner)
        elif len(flat) == 1:
            flat = _sets.affine(indices, flat[0], inner)
        elif len(indices) == 1 or len(flat) * len(indices) > DENSE_LIMIT:
            flat = _sets.affine(flat, int(indices[0]) * inner, 1)
        else:
            outer = _sets.to_array(indices) * inner
            flat = _sets.from_sorted(np.add.outer(outer, _sets.to_array(flat)).reshape(-1))
        inner *= size
    return flat


def _unflatten(flat: IndexSet, sizes: Shape) -> list[Sets] | Mask:
    """Products of sets whose union is the flat set, or a dense mask."""
    if len(sizes) == 1:
        return [(flat,)]
    inner = prod(sizes[1:])
    if isinstance(flat, range):
        if flat.step == 1 or len(flat) == 1:
            return _split_span(flat, sizes)
        whole = flat.start < flat.step and flat.start + len(flat) * flat.step >= inner * sizes[0]
        if whole and inner % flat.step == 0:
            parts = _unflatten(_sets.from_range(flat.start, inner, flat.step), sizes[1:])
            if isinstance(parts, list):
                return [(range(sizes[0]), *p) for p in parts]
    if len(flat) > DENSE_LIMIT:
        return [tuple(range(1) for _ in sizes)]
    index = np.unravel_index(_sets.to_array(flat), sizes)
    uniques = [np.unique(i) for i in index]
    if prod(len(u) for u in uniques) == len(flat):
        return [tuple(_sets.from_sorted(u.astype(np.int64)) for u in uniques)]
    if prod(sizes) > DENSE_LIMIT:
        return [tuple(range(int(i[0]), int(i[0]) + 1) for i in index)]
    mask: Mask = np.zeros(sizes, dtype=np.bool_)
    mask[index] = True
    return mask


def _split_span(flat: range, sizes: Shape) -> list[Sets]:
    """A run of flat indices: a head, whole rows, and a tail."""
    if len(flat) == 0:
        return []
    if len(sizes) == 1:
        return [(flat,)]
    inner = prod(sizes[1:])
    first, last = flat.start // inner, (flat.stop - 1) // inner
    if first == last:
        row = range(flat.start - first * inner, flat.stop - first * inner)
        return [(range(first, first + 1), *p) for p in _split_span(row, sizes[1:])]
    parts: list[Sets] = []
    if flat.start % inner:
        parts += _split_span(range(flat.start, (first + 1) * inner), sizes)
        first += 1
    if flat.stop % inner:
        parts += _split_span(range(last * inner, flat.stop), sizes)
        last -= 1
    if first <= last:
        parts.append((range(first, last + 1), *(range(n) for n in sizes[1:])))
    return parts


def through_reps(reps: Sequence[Rep], source: Shape, target: Shape) -> tuple[Rep, ...]:
    """Equal slices of the reshaped value."""
    result: list[Rep] = [_reps.CONST] * len(target)
    for mine, theirs in groups(source, target):
        if len(mine) == len(theirs) == 1:
            result[theirs[0]] = reps[mine[0]]
            continue
        new = _reps.reshape(
            [reps[d] for d in mine], [source[d] for d in mine], [target[d] for d in theirs]
        )
        for dim, rep in zip(theirs, new, strict=True):
            result[dim] = rep
    return tuple(result)
