"""Regions: sets of positions of a tensor (or of an iteration space), counted exactly.

A ``Box`` is a product of index sets, one a dimension, cut by *joints*: boolean masks over two or more
dimensions at once (a causal mask over query and key). A ``Region`` is a union of boxes. Regions are
under-approximated where an operation would get too large, never over-approximated: a demand that is too
small gives a bound that is too small, which is safe; the reverse is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _sets
from solbench.bound._bands import Bands
from solbench.bound._boxes import (
    Box,
    Joint,
    Shape,
    cut,
    eliminate,
    intersect_boxes,
    make_box,
    membership,
    overlapping,
    spread,
    without_ones,
)
from solbench.bound._counting import count, count_box

__all__ = [
    "MAX_BOXES",
    "Box",
    "Joint",
    "Region",
    "Shape",
    "count_box",
    "cut",
    "eliminate",
    "empty",
    "full",
    "full_box",
    "intersect_boxes",
    "make_box",
    "membership",
    "of_boxes",
    "overlapping",
    "same",
    "spread",
    "unite",
    "without_ones",
]

MAX_BOXES = 48
"""Boxes kept in one union. More are dropped, smallest first (an under-approximation)."""


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A union of boxes within ``shape``."""

    shape: Shape
    boxes: tuple[Box, ...]

    @property
    def is_empty(self) -> bool:
        return not self.boxes

    @property
    def is_full(self) -> bool:
        if len(self.boxes) != 1:
            return False
        box = self.boxes[0]
        return box is full_box(self.shape) or _is_full_box(box, self.shape)

    def count(self, weights: Mapping[int, NDArray[Any]] | None = None) -> int:
        """Number of positions; with weights per dimension, the sum of their products."""
        return count(self.boxes, self.shape, weights or {})

    def intersect(self, box: Box) -> Region:
        """Positions that also lie in ``box``."""
        if self.is_empty or _is_full_box(box, self.shape):
            return self
        boxes = [intersect_boxes(b, box, self.shape) for b in self.boxes]
        return Region(self.shape, tuple(b for b in boxes if b is not None))

    def subtract(self, box: Box) -> Region:
        """Positions outside ``box``, as disjoint parts."""
        parts: list[Box] = []
        for own in self.boxes:
            parts += _subtract(own, box, self.shape)
        return unite(self.shape, [Region(self.shape, tuple(parts))])


def _is_full_box(box: Box, shape: Shape) -> bool:
    return not box.joints and tuple(map(len, box.sets)) == shape


def _subtract(own: Box, box: Box, shape: Shape) -> list[Box]:
    parts: list[Box | None] = []
    rest = list(own.sets)
    for dim, cut_set in enumerate(box.sets):
        outside = _sets.subtract(rest[dim], cut_set)
        if len(outside):
            parts.append(make_box([*rest[:dim], outside, *rest[dim + 1 :]], own.joints, shape))
        rest[dim] = _sets.intersect(rest[dim], cut_set)
        if len(rest[dim]) == 0:
            break
    else:
        held: list[Joint] = list(own.joints)
        for joint in box.joints:
            outside_it = _complement(joint)
            if outside_it is not None:  # else smaller, which is safe
                parts.append(make_box(rest, [*held, outside_it], shape))
            held.append(joint)
    return [p for p in parts if p is not None]


def _complement(joint: Joint) -> Joint | None:
    """The positions that a joint excludes; ``None`` if they are not intervals."""
    if not isinstance(joint.mask, Bands):
        return Joint(joint.dims, ~joint.mask)
    rest = joint.mask.complement()
    return None if rest is None else Joint(joint.dims, rest)


@lru_cache(maxsize=4096)
def full(shape: Shape) -> Region:
    """The whole tensor."""
    if 0 in shape:
        return empty(shape)
    return Region(shape, (full_box(shape),))


@lru_cache(maxsize=4096)
def full_box(shape: Shape) -> Box:
    return Box(tuple(range(n) for n in shape))


@lru_cache(maxsize=4096)
def empty(shape: Shape) -> Region:
    return Region(shape, ())


def of_boxes(shape: Shape, boxes: Iterable[Box | None]) -> Region:
    """The union of boxes, merged."""
    return unite(shape, [Region(shape, tuple(b for b in boxes if b is not None))])


def unite(shape: Shape, regions: Sequence[Region]) -> Region:
    """The union, with boxes merged where they differ in one dimension only."""
    boxes: list[Box] = []
    for region in regions:
        if region.is_full:
            return region
        boxes.extend(region.boxes)
    if not boxes:
        return empty(shape)
    if len(boxes) == 1:
        return Region(shape, (boxes[0],))
    boxes = _merge(boxes, shape)
    if len(boxes) > MAX_BOXES:
        boxes = sorted(boxes, key=lambda b: -count_box(b, {}))[:MAX_BOXES]
    return Region(shape, tuple(boxes))


def same(left: Region, right: Region) -> bool:
    """Whether two regions of one box each are the same product of index sets."""
    if len(left.boxes) != 1 or len(right.boxes) != 1:
        return False
    (a,), (b,) = left.boxes, right.boxes
    if len(a.joints) != len(b.joints):
        return False
    return all(_sets.equal(x, y) for x, y in zip(a.sets, b.sets, strict=True)) and all(
        x.dims == y.dims and _same_mask(x, y) for x, y in zip(a.joints, b.joints, strict=True)
    )


def _same_mask(left: Joint, right: Joint) -> bool:
    first, second = left.mask, right.mask
    if isinstance(first, Bands) or isinstance(second, Bands):
        both = isinstance(first, Bands) and isinstance(second, Bands)
        return first is second or (both and first.equals(second))  # type: ignore[union-attr, arg-type]
    return np.array_equal(first, second)


def _box_key(box: Box, skip: int) -> tuple[object, ...]:
    sets = tuple(_sets.key(s) if d != skip else () for d, s in enumerate(box.sets))
    return (sets, tuple((j.dims, id(j.mask)) for j in box.joints))


def _merge(boxes: list[Box], shape: Shape) -> list[Box]:
    """Merge until nothing changes: same box but for one index set, or but for one joint."""
    while True:
        before = len(boxes)
        for dim in range(len(shape)):
            if len(boxes) == 1:
                return boxes
            boxes = _merge_along(boxes, dim)
        boxes = _merge_joints(boxes)
        if len(boxes) == before:
            return _drop_covered(boxes)


def _merge_along(boxes: list[Box], dim: int) -> list[Box]:
    groups: dict[tuple[object, ...], list[Box]] = {}
    for box in boxes:
        groups.setdefault(_box_key(box, dim), []).append(box)
    return [_united(group, dim) for group in groups.values()]


def _united(group: list[Box], dim: int) -> Box:
    first = group[0]
    if len(group) == 1:
        return first
    united = _sets.unite([b.sets[dim] for b in group])
    return Box((*first.sets[:dim], united, *first.sets[dim + 1 :]), first.joints)


def _merge_joints(boxes: list[Box]) -> list[Box]:
    groups: dict[tuple[object, ...], list[Box]] = {}
    for box in boxes:
        form = tuple(_sets.key(s) for s in box.sets), tuple(j.dims for j in box.joints)
        groups.setdefault(form, []).append(box)
    result: list[Box] = []
    for group in groups.values():
        if len(group) > 1 and len(group[0].joints) == 1 and group[0].joints[0].holdable:
            mask = reduce(np.logical_or, (b.joints[0].dense() for b in group))
            joint = Joint(group[0].joints[0].dims, mask)
            result.append(Box(group[0].sets, () if mask.all() else (joint,)))
        else:
            result.extend(group if group[0].joints else group[:1])
    return result


def _drop_covered(boxes: list[Box]) -> list[Box]:
    if len(boxes) > MAX_BOXES:
        return boxes
    plain = [b for b in boxes if not b.joints]
    return [b for b in boxes if not any(o is not b and _covers(o, b) for o in plain)]


def _covers(outer: Box, inner: Box) -> bool:
    return all(_sets.contains(o, i) for o, i in zip(outer.sets, inner.sets, strict=True))
