"""Regions through a reshape: dimensions are split into groups with equal products, mapped group by group."""

from __future__ import annotations

from collections.abc import Container, Sequence
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
    spelled: list[Group] = []
    for cluster in _clusters([_region.without_ones(j) for j in box.joints], pending, source):
        involved = [g for g in pending if any(set(g[0]) & set(j.dims) for j in cluster)]
        spelled += involved
        joints.append(_through_joint(cluster, box, involved, simple, source, target))
    pending = [g for g in pending if g not in spelled]
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


def _clusters(
    joints: Sequence[Joint], groups_left: Sequence[Group], source: Shape
) -> list[list[Joint]]:
    """Joints by the groups that they meet: those of one group become one mask, if it is not too large."""
    clusters: list[tuple[set[int], list[Joint]]] = []
    for joint in joints:
        met = {i for i, g in enumerate(groups_left) if set(g[0]) & set(joint.dims)}
        mine = [joint]
        for other in [c for c in clusters if c[0] & met]:
            clusters.remove(other)
            met |= other[0]
            mine = other[1] + mine
        clusters.append((met, mine))
    result = []
    for met, cluster in clusters:
        regrouped = {d for i in met for d in groups_left[i][0]}
        dims = {d for j in cluster for d in j.dims} | regrouped
        if prod(source[d] for d in dims) <= DENSE_LIMIT:
            result.append(cluster)
        else:
            result += [[part] for joint in cluster for part in _factors(joint, regrouped)]
    return result


def _factors(joint: Joint, regrouped: Container[int]) -> list[Joint]:
    """Masks with one dimension each besides those regrouped, if the joint is no more than all of them at once:
    valid queries and valid keys of a padded batch, say."""
    shared = [i for i, d in enumerate(joint.dims) if d in regrouped]
    alone = [i for i, d in enumerate(joint.dims) if d not in regrouped]
    if not shared or len(alone) < 2 or isinstance(joint.mask, _bands.Bands):
        return [joint]
    every: Mask = np.ones((1,) * joint.mask.ndim, dtype=np.bool_)
    parts = []
    for axis in alone:
        others = tuple(i for i in alone if i != axis)
        part: Mask = np.asarray(joint.mask.any(axis=others, keepdims=True))
        every = every & part
        dims = tuple(d for i, d in enumerate(joint.dims) if i not in others)
        parts.append(Joint(dims, part.squeeze(others)))
    return parts if np.array_equal(every, joint.mask) else [joint]


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
        return banded or _certain(cluster, box, involved, source, target)
    only = Box(box.sets, tuple(cluster))
    member = np.broadcast_to(_region.membership(only, dims, source), [source[d] for d in dims])
    member = np.transpose(member, [dims.index(d) for d in mine])
    return _leaner(theirs, member.reshape([target[d] for d in theirs]))


def _leaner(dims: Sequence[int], mask: Mask) -> Joint:
    """A mask without the dimensions along which it does not vary: heads that were folded into rows, say."""
    kept = list(dims)
    for dim in dims:
        if len(kept) == 1:
            break
        axis = kept.index(dim)
        lines = np.moveaxis(mask, axis, 0)
        # Most that vary do so between the first two, or to the last one: the rest is then not looked at.
        near = (lines[min(1, len(lines) - 1)], lines[-1])
        if all(np.array_equal(lines[0], each) for each in near) and (lines == lines[0]).all():
            mask, kept = lines[0], [d for d in kept if d != dim]
    return Joint(tuple(kept), mask)


def _certain(
    cluster: Sequence[Joint], box: Box, involved: Sequence[Group], source: Shape, target: Shape
) -> Joint:
    """What surely holds of joints that are too large to spell out: less, which is the safe side.

    Only the regrouped dimensions are spelled out, with what holds at every index of the others: windows of an
    image that no mask cuts, say.
    """
    mine, theirs = ([d for g in involved for d in g[side]] for side in (0, 1))
    sizes = [source[d] for d in mine]
    if prod(sizes) > DENSE_LIMIT or any(prod(j.mask.shape) > DENSE_LIMIT for j in cluster):
        return Joint(tuple(theirs[:1]), np.zeros(target[theirs[0]], dtype=np.bool_))
    joints = [_at_every_other(joint, box, mine) for joint in cluster]
    kept = [joint for joint in joints if joint is not None]
    order = sorted(mine)
    member = _region.membership(Box(box.sets, tuple(kept)), tuple(order), source)
    member = np.broadcast_to(member, [source[d] for d in order])
    member = np.transpose(member, [order.index(d) for d in mine])
    return _leaner(theirs, member.reshape([target[d] for d in theirs]))


def _at_every_other(joint: Joint, box: Box, dims: Sequence[int]) -> Joint | None:
    """A joint over ``dims`` only: where it holds at all indices of its other dimensions that the box has."""
    own = joint.mask.dense() if isinstance(joint.mask, _bands.Bands) else joint.mask
    for axis, dim in enumerate(joint.dims):
        if dim not in dims:
            inside: Mask = np.take(own, _sets.to_array(box.sets[dim]), axis=axis)
            own = np.all(inside, axis=axis, keepdims=True)
    kept = tuple(d for d in joint.dims if d in dims)
    if not kept:
        return None
    return Joint(
        kept, own.reshape([n for n, d in zip(own.shape, joint.dims, strict=True) if d in dims])
    )


def _through_bands(
    joint: Joint,
    box: Box,
    involved: Sequence[Group],
    simple: dict[int, int],
    source: Shape,
    target: Shape,
) -> Joint | None:
    """One interval a row, where rows or columns are merged with other dimensions, or split into some.

    A causal mask over query and key, once heads are folded into the rows of a product: the same interval for
    every head.
    """
    if len(joint.dims) != 2:
        return None
    unchanged = [((d,), (simple[d],)) for d in joint.dims if d in simple]
    own = {d: g for g in (*involved, *unchanged) for d in g[0]}
    for column, row in (joint.dims, joint.dims[::-1]):
        step = _step(column, own[column], box, source)
        lines = _lines(joint.mask, turned=joint.dims[0] != row)
        if step is None or lines is None or own[column] is own[row]:
            continue
        moved = _rows_moved(lines, row, own[row], box, source, target)
        if moved is not None:
            axis, low, high = moved
            wide = _bands.bands(low * step, high * step, source[column] * step)
            return Joint((own[row][1][axis], own[column][1][0]), wide)
    return None


def _step(column: int, group: Group, box: Box, source: Shape) -> int | None:
    """How many elements of the target one step of a column takes; ``None`` where an interval would break.

    A column may be merged with whole dimensions inside it: a key with its channels, in a cache of flat rows.
    """
    mine, theirs = group
    if len(mine) == len(theirs) == 1:
        return 1
    whole = all(len(box.sets[d]) == source[d] for d in mine)
    return (
        prod(source[d] for d in mine[1:])
        if whole and mine[0] == column and len(theirs) == 1
        else None
    )


def _rows_moved(
    lines: _bands.Bands, row: int, group: Group, box: Box, source: Shape, target: Shape
) -> tuple[int, NDArray[Any], NDArray[Any]] | None:
    """Which of the target's dimensions the intervals depend on, and the intervals along it."""
    mine, theirs = group
    sizes = tuple(source[d] for d in mine)
    places = np.unravel_index(np.arange(prod(sizes)), sizes)
    own = places[mine.index(row)]
    held = np.ones(len(own), dtype=np.bool_)
    for dim, place in zip(mine, places, strict=True):
        held &= _sets.to_mask(box.sets[dim], source[dim])[place]
    low, high = (np.where(held, ends[own], 0) for ends in (lines.low, lines.high))
    shape = tuple(target[d] for d in theirs)
    axis = _only_axis(np.stack([low, high]).reshape(2, *shape))
    return None if axis is None else (axis, _along(low, axis, shape), _along(high, axis, shape))


def _lines(mask: Mask | _bands.Bands, *, turned: bool) -> _bands.Bands | None:
    """One interval a row, or a column if ``turned``."""
    if isinstance(mask, _bands.Bands):
        return mask.transposed() if turned else mask
    return _bands.of_mask(mask.T if turned else mask)


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
    array = _sets.to_array(flat)
    if (rows := _whole_rows(array, sizes)) is not None:
        count, starts = rows
        leading = _unflatten(_sets.from_sorted(starts), sizes[:count])
        if isinstance(leading, list):
            return [(*p, *(range(size) for size in sizes[count:])) for p in leading]
    if prod(sizes) > DENSE_LIMIT:
        return [_product_or_first(array, sizes)]
    mask = _sets.to_mask(array, prod(sizes)).reshape(sizes)
    every = frozenset(range(len(sizes)))
    used = [np.flatnonzero(mask.any(axis=tuple(every - {axis}))) for axis in range(len(sizes))]
    if prod(len(u) for u in used) == len(array):
        return [tuple(_sets.from_sorted(u.astype(np.int64)) for u in used)]
    return mask


def _product_or_first(array: NDArray[Any], sizes: Shape) -> Sets:
    """A set too large for a mask, if it is a product of sets; else the box of its first element."""
    used = []
    inner = prod(sizes)
    for size in sizes:
        inner //= size
        used.append(np.flatnonzero(np.bincount(array // inner % size)))
    if prod(len(u) for u in used) == len(array):
        return tuple(_sets.from_sorted(u.astype(np.int64)) for u in used)
    first = np.unravel_index(int(array[0]), sizes)
    return tuple(range(int(i), int(i) + 1) for i in first)


def _whole_rows(flat: NDArray[Any], sizes: Shape) -> tuple[int, NDArray[Any]] | None:
    """How many leading sizes are left, and the set over them, where a sorted set takes everything or nothing of
    the sizes behind them; as few as possible."""
    for count in range(1, len(sizes)):
        row = prod(sizes[count:])
        if row == 1 or len(flat) % row:
            continue
        starts = flat[::row]
        if not (starts % row).any() and (flat[row - 1 :: row] - starts == row - 1).all():
            return count, starts // row
    return None


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
