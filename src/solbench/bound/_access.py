"""Access maps: where an operand is read, as a function of the iteration space of a node.

The iteration space has numbered *ranks*. A tensor has one ``Axis`` a dimension. ``pull`` takes the region of
the iteration space that is needed to the region of the tensor that is read; ``push`` takes a box of the
tensor to the box of the iteration space that reads inside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from solbench.bound import _region, _reps, _sets
from solbench.bound._axes import (
    Along,
    Axes,
    Axis,
    Fixed,
    Table,
    Taps,
    Whole,
    axis_table,
    broadcast,
    identity,
    is_permutation,
    map_set,
)
from solbench.bound._bands import Bands, bands
from solbench.bound._region import Box, Joint, Region, Shape
from solbench.bound._reps import CONST, Rep
from solbench.bound._sets import DENSE_LIMIT, IndexSet, Indices, Mask

__all__ = [
    "Along",
    "Axes",
    "Axis",
    "Fixed",
    "Table",
    "Taps",
    "Whole",
    "axis_table",
    "broadcast",
    "identity",
    "is_permutation",
    "lift",
    "map_set",
    "pull",
    "push",
    "push_bands",
    "rank_reps",
    "ranks_of",
]


def lift(region: Region, axes: Axes, ranks: Shape) -> Region:
    """Region of the iteration space that computes a region of an output.

    Axes are identities, or ``Fixed`` for a reduced dimension that was kept.
    """
    order = {d: a.rank for d, a in enumerate(axes) if isinstance(a, Along)}
    if region.is_empty:
        return _region.empty(ranks)
    if region.is_full:
        return _region.full(ranks)
    boxes = []
    for box in region.boxes:
        sets: list[IndexSet] = [range(n) for n in ranks]
        for dim, rank in order.items():
            sets[rank] = box.sets[dim]
        # a reduced dimension that was kept has size 1, and no rank
        slim = [
            _region.without_ones(j) if any(d not in order for d in j.dims) else j
            for j in box.joints
        ]
        joints = [Joint(tuple(order[d] for d in j.dims), j.mask) for j in slim]
        boxes.append(_region.make_box(sets, joints, ranks) if joints else Box(tuple(sets)))
    return Region(ranks, tuple(b for b in boxes if b is not None))


def pull(region: Region, axes: Axes, shape: Shape) -> Region:
    """Region of the tensor that a region of the iteration space reads."""
    if region.is_empty or 0 in shape:
        return _region.empty(shape)
    if region.is_full and not any(isinstance(a, Table | Taps | Fixed) for a in axes):
        full = all(
            not isinstance(a, Along) or _covers(a, region.shape, n)
            for a, n in zip(axes, shape, strict=True)
        )
        if full and len({a.rank for a in axes if isinstance(a, Along)}) == sum(
            isinstance(a, Along) for a in axes
        ):
            return _region.full(shape)
    return _region.of_boxes(shape, [_pull_box(b, axes, shape, region.shape) for b in region.boxes])


def _covers(axis: Along, ranks: Shape, size: int) -> bool:
    return ranks[axis.rank] == size and axis.step == 1


def _pull_box(box: Box, axes: Axes, shape: Shape, ranks: Shape) -> Box | None:
    windows = [{a.rank, a.tap} for a in axes if isinstance(a, Taps)]
    if windows and any(len(j.dims) > 2 for j in box.joints):
        box = Box(box.sets, tuple(part for j in box.joints for part in _factored(j, windows)))
    sets: list[IndexSet] = [range(n) for n in shape]
    users: dict[int, list[int]] = {}
    for dim, axis in enumerate(axes):
        if isinstance(axis, Fixed):
            sets[dim] = range(axis.index, axis.index + 1)
        elif isinstance(axis, Taps):
            others = {r for d, a in enumerate(axes) if d != dim for r in ranks_of(a)}
            sets[dim] = _through_taps(axis, box, others)
        elif isinstance(axis, Along | Table):
            sets[dim] = map_set(axis, box.sets[axis.rank])
            users.setdefault(axis.rank, []).append(dim)
    joints: list[Joint] = []
    joined: set[int] = set()
    reduced = _region.eliminate(box, users, ranks)
    if reduced is None:
        return None
    for joint in reduced.joints:
        joined.update(joint.dims)
        joints += _pull_joint(joint, box, axes, users, shape)
    for rank, dims in users.items():
        if rank not in joined and len(dims) > 1 and len(box.sets[rank]) > 1:
            line = Joint((rank,), np.ones(ranks[rank], dtype=np.bool_))
            joints += _pull_joint(line, box, axes, users, shape)
    return _region.make_box(sets, joints, shape)


def _factored(joint: Joint, windows: Sequence[set[int]]) -> list[Joint]:
    """A mask as the product of masks over each window and over each other rank, if it is one."""
    if len(joint.dims) < 3 or not joint.holdable:
        return [joint]
    groups: dict[tuple[int, ...], None] = {}
    for rank in joint.dims:
        own = next((w for w in windows if rank in w), {rank})
        groups[tuple(r for r in joint.dims if r in own)] = None
    mask = joint.dense()
    parts = []
    for group in groups:
        lost = tuple(i for i, r in enumerate(joint.dims) if r not in group)
        parts.append(Joint(group, np.asarray(mask.any(axis=lost))))
    whole = prod([int(np.count_nonzero(p.dense())) for p in parts])
    return parts if whole == int(np.count_nonzero(mask)) else [joint]


def ranks_of(axis: Axis) -> tuple[int, ...]:
    """Ranks that say where an axis reads."""
    if isinstance(axis, Taps):
        return (axis.rank, axis.tap)
    return (axis.rank,) if isinstance(axis, Along | Table) else ()


def _through_taps(axis: Taps, box: Box, used: set[int]) -> IndexSet:
    """Positions that the needed (rank, tap) pairs read.

    A joint with further ranks is projected: where the operand has those ranks as well, to the pairs that hold
    for all of them, so that the product of the dimensions stays within what is needed.
    """
    rows, taps = _sets.to_array(box.sets[axis.rank]), _sets.to_array(box.sets[axis.tap])
    needed = np.ones((len(rows), len(taps)), dtype=np.bool_)
    for joint in box.joints:
        own = [r for r in joint.dims if r in (axis.rank, axis.tap)]
        if own:
            needed = needed & _pairs(joint, box, axis, own, used)
    table = axis.table[rows][:, taps][needed]
    return _sets.from_indices(table[table >= 0])


def _pairs(joint: Joint, box: Box, axis: Taps, own: list[int], used: set[int]) -> Mask:
    """A joint over (rank, tap) within the box's sets; size 1 along the one that it lacks."""
    if not joint.holdable:
        return np.zeros((1, 1), dtype=np.bool_)
    part = _region.cut(joint.dense(), [box.sets[r] for r in joint.dims])
    lost = tuple(i for i, r in enumerate(joint.dims) if r not in own)
    shared = any(r in used for r in joint.dims if r not in own)
    if lost:
        part = np.asarray(part.all(axis=lost) if shared else part.any(axis=lost))
    if len(own) == 2:
        return part if own == [axis.rank, axis.tap] else part.T
    return part[:, None] if own == [axis.rank] else part[None, :]


def _pull_joint(
    joint: Joint, box: Box, axes: Axes, users: dict[int, list[int]], shape: Shape
) -> list[Joint]:
    """The joint as the operand sees it: projected on the ranks that it has."""
    used = [r for r in joint.dims if r in users]
    if not used:
        return []
    if isinstance(joint.mask, Bands):
        found = _pull_bands(joint.mask, joint.dims, box, axes, users, shape)
        if found is not None:
            return [found]
        if not joint.holdable:
            return _nothing(joint, users)
    sizes = dict(zip(joint.dims, joint.mask.shape, strict=True))
    if all(len(users[r]) == 1 and _is_identity(axes[users[r][0]]) for r in used) and all(
        shape[users[r][0]] == sizes[r] for r in used
    ):
        cuts = [
            slice(None) if r in users or len(box.sets[r]) == n else _sets.to_array(box.sets[r])
            for r, n in zip(joint.dims, joint.mask.shape, strict=True)
        ]
        mask = joint.dense()
        for axis, chosen in enumerate(cuts):
            if not isinstance(chosen, slice):
                mask = np.take(mask, chosen, axis=axis)
        lost = tuple(a for a, r in enumerate(joint.dims) if r not in users)
        if lost:
            mask = np.asarray(mask.any(axis=lost))
        return [Joint(tuple(users[r][0] for r in used), mask)]
    return _scattered(joint, box, axes, users, used, shape)


def _pull_bands(
    mask: Bands,
    dims: tuple[int, ...],
    box: Box,
    axes: Axes,
    users: dict[int, list[int]],
    shape: Shape,
) -> Joint | None:
    """Intervals as the operand sees them; ``None`` where they are no intervals of it."""
    kept = [r for r in dims if r in users]
    if any(len(users[r]) != 1 for r in kept):
        return None
    if len(kept) == 1:
        lost = 1 - dims.index(kept[0])
        line = mask.any_along(lost, box.sets[dims[lost]])
        alone = Box((box.sets[kept[0]],), ())
        axis, size = axes[users[kept[0]][0]], shape[users[kept[0]][0]]
        assert isinstance(axis, Along | Table)
        within = _sets.intersect(alone.sets[0], _sets.from_mask(line))
        return Joint((users[kept[0]][0],), _sets.to_mask(map_set(axis, within), size))
    row, column = (axes[users[r][0]] for r in dims)
    height, width = (shape[users[r][0]] for r in dims)
    if not all(isinstance(a, Along) and a.step == 1 for a in (row, column)):
        return None
    assert isinstance(row, Along) and isinstance(column, Along)
    places = np.arange(height) - row.start
    inside = (places >= 0) & (places < len(mask.low))
    moved = mask.moved(np.where(inside, places, 0), -column.start, width)
    own = bands(np.where(inside, moved.low, 0), np.where(inside, moved.high, 0), width)
    return Joint(tuple(users[r][0] for r in dims), own)


def _nothing(joint: Joint, users: dict[int, list[int]]) -> list[Joint]:
    """In place of a mask that cannot be followed: no position, the safe side."""
    first = next(r for r in joint.dims if r in users)
    return [Joint((users[first][0],), np.zeros(0, dtype=np.bool_))]


def _is_identity(axis: Axis) -> bool:
    return isinstance(axis, Along) and axis.identity


def _scattered(
    joint: Joint,
    box: Box,
    axes: Axes,
    users: dict[int, list[int]],
    used: list[int],
    shape: Shape,
) -> list[Joint]:
    """Every position of the joint, mapped one by one; a single one where that gets too large."""
    inside = _region.cut(joint.dense(), [box.sets[r] for r in joint.dims])
    where = dict(zip(joint.dims, np.nonzero(inside), strict=True))
    dims = [d for r in used for d in users[r]]
    if prod(shape[d] for d in dims) > DENSE_LIMIT:
        where = {r: found[:1] for r, found in where.items()}
        return [Joint((d,), _sets.to_mask(_indices(axes[d], box, where), shape[d])) for d in dims]
    mask = np.zeros([shape[d] for d in dims], dtype=np.bool_)
    mask[tuple(_indices(axes[d], box, where) for d in dims)] = True
    return [Joint(tuple(dims), mask)]


def _indices(axis: Axis, box: Box, where: dict[int, Indices]) -> Indices:
    assert isinstance(axis, Along | Table)
    index = _sets.to_array(box.sets[axis.rank])[where[axis.rank]]
    return axis.table[index] if isinstance(axis, Table) else axis.start + axis.step * index


def push(box: Box, axes: Axes, ranks: Shape) -> Box | None:
    """Box of the iteration space whose reads fall into ``box``; ``None`` if none does.

    Dimensions that are read whole do not restrict the result. A mask of intervals that cannot be followed
    leaves nothing.
    """
    sets: list[IndexSet] = [range(n) for n in ranks]
    joints: list[Joint | None] = []
    for joint in box.joints:
        if isinstance(joint.mask, Bands):
            found = push_bands(joint.mask, [axes[d] for d in joint.dims], ranks)
            if found is not None:
                joints.append(found)
                continue
            if not joint.holdable:
                return None
        joints.append(_push_joint(joint, axes, ranks))
    for axis, indices in zip(axes, box.sets, strict=True):
        if isinstance(axis, Fixed):
            if axis.index not in indices:
                return None
        elif isinstance(axis, Taps):
            joints.append(_push_taps(axis, indices))
        elif isinstance(axis, Along | Table):
            sets[axis.rank] = _sets.intersect(
                sets[axis.rank], _preimage(axis, indices, ranks[axis.rank])
            )
    return _region.make_box(sets, [j for j in joints if j is not None], ranks)


def push_bands(mask: Bands, axes: Sequence[Axis], ranks: Shape) -> Joint | None:
    """Intervals as the iteration space sees them; ``None`` where they are no intervals of it."""
    row, column = axes
    height, width = mask.shape
    if isinstance(row, Fixed) and isinstance(column, Along | Table):
        line = mask.row(row.index)
        read = np.clip(axis_table(column, ranks[column.rank]), 0, width - 1)
        return Joint((column.rank,), line[read])
    if not isinstance(row, Along | Table):
        return None
    # reads outside the tensor (padding) are excluded by the index sets of the box
    rows = np.clip(axis_table(row, ranks[row.rank]), 0, height - 1)
    if isinstance(column, Fixed):
        return Joint((row.rank,), mask.column(column.index)[rows])
    if not isinstance(column, Along) or column.step != 1 or column.rank == row.rank:
        return None
    moved = mask.moved(rows, column.start, ranks[column.rank])
    return Joint((row.rank, column.rank), moved)


def _push_taps(axis: Taps, indices: IndexSet) -> Joint | None:
    """Windows and taps that read an index of the set; nothing if all do."""
    size = max(int(axis.table.max(initial=0)), int(indices[-1]) if len(indices) else 0) + 1
    inside = (axis.table >= 0) & _sets.to_mask(indices, size)[np.maximum(axis.table, 0)]
    return (
        None if bool((inside == (axis.table >= 0)).all()) else Joint((axis.rank, axis.tap), inside)
    )


def _preimage(axis: Along | Table, indices: IndexSet, size: int) -> IndexSet:
    if isinstance(axis, Along) and axis.identity:
        return indices
    read = axis_table(axis, size)
    if isinstance(indices, range):
        inside = (read >= indices.start) & (read < indices.stop)
        inside &= (read - indices.start) % indices.step == 0
        return _sets.from_mask(inside)
    return _sets.from_mask(np.isin(read, indices))


def _push_joint(joint: Joint, axes: Axes, ranks: Shape) -> Joint | None:
    mask: Mask = joint.dense()
    if any(isinstance(axes[d], Whole | Taps) for d in joint.dims):
        return None
    own = [axes[d] for d in joint.dims]
    ranks_read = [a.rank for a in own if isinstance(a, Along) and a.identity]
    if len(set(ranks_read)) == len(own) and mask.shape == tuple(ranks[r] for r in ranks_read):
        return Joint(tuple(ranks_read), mask)
    order = sorted({a.rank for a in own if isinstance(a, Along | Table)})
    if not order:
        return None
    if prod(ranks[r] for r in order) > DENSE_LIMIT:
        return None
    picks = []
    for axis in own:
        if isinstance(axis, Fixed):
            picks.append(np.array(axis.index))
        elif isinstance(axis, Along | Table):
            form = [-1 if r == axis.rank else 1 for r in order]
            # reads outside the tensor (padding) are excluded by the index sets of the box
            read = np.clip(axis_table(axis, ranks[axis.rank]), 0, mask.shape[len(picks)] - 1)
            picks.append(read.reshape(form))
    return Joint(tuple(order), np.broadcast_to(mask[tuple(picks)], [ranks[r] for r in order]))


def rank_reps(axes: Axes, reps: Sequence[Rep], shape: Shape, ranks: Shape) -> list[Rep]:
    """Along each rank, which iterations read equal slices of the operand."""
    result: list[Rep] = [CONST] * len(ranks)
    for axis, rep, size in zip(axes, reps, shape, strict=True):
        if isinstance(axis, Along) and rep is None:
            result[axis.rank] = None  # most operands: no two slices known to be equal
        elif isinstance(axis, Taps):
            result[axis.rank] = result[axis.tap] = None
        elif isinstance(axis, Along) and axis.identity and size == ranks[axis.rank]:
            result[axis.rank] = _reps.pair([result[axis.rank], rep], size)
        elif isinstance(axis, Along | Table):
            # positions outside the tensor are never read: the operand's box excludes them
            table = np.clip(axis_table(axis, ranks[axis.rank]), 0, max(size - 1, 0))
            own = _reps.through_table(rep, size, table)
            result[axis.rank] = _reps.pair([result[axis.rank], own], ranks[axis.rank])
    return result
