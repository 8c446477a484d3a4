"""Regions: sets of positions of a tensor (or of an iteration space), counted exactly.

A ``Box`` is a product of index sets, one a dimension, cut by *joints*: boolean masks over two or more
dimensions at once (a causal mask over query and key). A ``Region`` is a union of boxes. Regions are
under-approximated where an operation would get too large, never over-approximated: a demand that is too
small gives a bound that is too small, which is safe; the reverse is not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _sets
from solbench.bound._sets import DENSE_LIMIT, IndexSet, Mask

Shape = tuple[int, ...]
MAX_BOXES = 48
"""Boxes kept in one union. More are dropped, smallest first (an under-approximation)."""


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A mask over several dimensions at once, over their whole sizes."""

    dims: tuple[int, ...]
    mask: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """A product of index sets, cut by joints.

    Joints share a dimension only where their product is too large to hold as one mask.
    """

    sets: tuple[IndexSet, ...]
    joints: tuple[Joint, ...] = ()

    def is_empty(self) -> bool:
        return any(len(s) == 0 for s in self.sets) or any(not j.mask.any() for j in self.joints)


def cut(mask: Mask, sets: Sequence[IndexSet]) -> Mask:
    """The mask restricted to a product of sets, as a smaller array."""
    if all(len(s) == n for s, n in zip(sets, mask.shape, strict=True)):
        return mask
    if all(isinstance(s, range) for s in sets):
        return mask[tuple(slice(s.start, s.stop, s.step) for s in sets if isinstance(s, range))]
    result: Mask = mask[np.ix_(*[_sets.to_array(s) for s in sets])]
    return result


def make_box(sets: Sequence[IndexSet], joints: Sequence[Joint], shape: Shape) -> Box | None:
    """A box from factors that may overlap; ``None`` if empty.

    Joints that share a dimension are joined into one, unless that would be too large.
    """
    result = list(sets)
    kept: list[Joint] = []
    for joint in joints:
        if joint.mask.ndim == 0:
            if not joint.mask:
                return None
        elif joint.mask.ndim == 1:
            dim = joint.dims[0]
            result[dim] = _sets.intersect(result[dim], _sets.from_mask(joint.mask))
        elif not joint.mask.all():
            _add_joint(kept, joint, shape)
    box = Box(tuple(result), tuple(k for k in kept if not k.mask.all()))
    return None if box.is_empty() else box


def _add_joint(kept: list[Joint], joint: Joint, shape: Shape) -> None:
    for other in [k for k in kept if set(k.dims) & set(joint.dims)]:
        dims = tuple(sorted({*other.dims, *joint.dims}))
        if prod(shape[d] for d in dims) <= DENSE_LIMIT:
            kept.remove(other)
            joint = Joint(dims, _spread(other, dims, shape) & _spread(joint, dims, shape))
    kept.append(joint)


def separate(box: Box, shape: Shape) -> Box | None:
    """The box with joints over disjoint dimensions; smaller where two of them cannot be joined.

    One of the two is then replaced by the part that holds for every index of what they do not share.
    """
    if not overlapping(box):
        return box
    first, *others = box.joints
    dims = first.dims
    held = [Joint(dims, first.mask)]
    for joint in others:
        lost = tuple(i for i, d in enumerate(joint.dims) if d not in dims)
        if len(lost) < len(joint.dims):
            shared = tuple(d for d in joint.dims if d in dims)
            joint = Joint(shared, np.asarray(joint.mask.all(axis=lost)))
        held.append(joint)
    left = make_box(box.sets, held, shape)
    return None if left is None else separate(left, shape)


def overlapping(box: Box) -> bool:
    """Whether two joints share a dimension."""
    return len({d for j in box.joints for d in j.dims}) < sum(len(j.dims) for j in box.joints)


def eliminate(box: Box, kept: Container[int], shape: Shape) -> Box | None:
    """The box without shared dimensions that are not kept: "some index of it lies in both masks"."""
    if not overlapping(box):
        return box
    joints = list(box.joints)
    for dim in {d for j in joints for d in j.dims if d not in kept}:
        pair = [j for j in joints if dim in j.dims]
        if len(pair) < 2 or any(len(j.dims) == 1 or j.mask.ndim != 2 for j in pair[:2]):
            continue
        if len(pair) > 2 or pair[0].dims == pair[1].dims:
            return separate(box, shape)
        (first, left), (second, right) = (_lines(j, dim, box) for j in pair)
        joints = [j for j in joints if dim not in j.dims]
        joints.append(Joint((first, second), (left @ right.T) > 0))
    return make_box(box.sets, joints, shape)


def _lines(joint: Joint, dim: int, box: Box) -> tuple[int, NDArray[np.float32]]:
    """The other dimension of a two-dimensional joint, and the mask with ``dim`` second, within its set."""
    axis = joint.dims.index(dim)
    mask = joint.mask if axis == 1 else joint.mask.T
    return joint.dims[1 - axis], mask[:, _sets.to_array(box.sets[dim])].astype(np.float32)


def _spread(joint: Joint, dims: tuple[int, ...], shape: Shape) -> Mask:
    """The joint's mask with axes for all of ``dims`` (size 1 where it does not depend)."""
    order = np.argsort(joint.dims)
    mask = np.transpose(joint.mask, order)
    return mask.reshape([shape[d] if d in joint.dims else 1 for d in dims])


def without_ones(joint: Joint) -> Joint:
    """The same mask without its dimensions of size 1."""
    dims = tuple(d for d, n in zip(joint.dims, joint.mask.shape, strict=True) if n != 1)
    return Joint(dims, joint.mask.reshape([n for n in joint.mask.shape if n != 1]))


def intersect_boxes(left: Box, right: Box, shape: Shape) -> Box | None:
    sets = [_sets.intersect(a, b) for a, b in zip(left.sets, right.sets, strict=True)]
    if any(len(s) == 0 for s in sets):
        return None
    if not left.joints and not right.joints:
        return Box(tuple(sets))
    joints = list(left.joints)
    joints += [j for j in right.joints if not any(j is k for k in left.joints)]
    return make_box(sets, joints, shape)


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
        return count(self, weights or {})

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
            parts.append(make_box(rest, [*held, Joint(joint.dims, ~joint.mask)], shape))
            held.append(joint)
    return [p for p in parts if p is not None]


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
        x.dims == y.dims and np.array_equal(x.mask, y.mask)
        for x, y in zip(a.joints, b.joints, strict=True)
    )


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
        if len(group) > 1 and len(group[0].joints) == 1:
            mask = np.logical_or.reduce([b.joints[0].mask for b in group])
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


def count_box(box: Box, weights: Mapping[int, NDArray[Any]]) -> int:
    """Size of one box, or its weighted sum."""
    if overlapping(box):
        return _count_overlapping(box, weights)
    total = 1
    joined: set[int] = set()
    for joint in box.joints:
        joined.update(joint.dims)
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


def _count_overlapping(box: Box, weights: Mapping[int, NDArray[Any]]) -> int:
    """An einsum over the masks, one dimension summed after the other; exact below 2**53."""
    factors: list[tuple[tuple[int, ...], NDArray[np.float64]]] = [
        (j.dims, cut(j.mask, [box.sets[d] for d in j.dims]).astype(np.float64)) for j in box.joints
    ]
    joined = {d for dims, _ in factors for d in dims}
    for dim in joined & set(weights):
        factors.append(((dim,), weights[dim][_sets.to_array(box.sets[dim])].astype(np.float64)))
    total = prod(_weight(s, weights.get(d)) for d, s in enumerate(box.sets) if d not in joined)
    while any(dims for dims, _ in factors):
        factors = _sum_out(factors)
    return total * round(prod(float(f) for _, f in factors))


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


def count(region: Region, weights: Mapping[int, NDArray[Any]]) -> int:
    """Exact size of a union of boxes.

    Each dimension (or group of jointly masked dimensions) is split into classes of indices that lie in
    the same boxes; a class is a bit set of boxes. The product over dimensions then only needs the
    intersections of bit sets: a position counts if its intersection is not empty.
    """
    if len(region.boxes) < 2:
        return sum(count_box(b, weights) for b in region.boxes)
    groups = _groups(region)
    too_large = any(
        len(g) > 1 and prod(region.shape[d] for d in g) > DENSE_LIMIT for g in groups
    ) or any(region.shape[g[0]] > DENSE_LIMIT and not _plain(region, g[0]) for g in groups)
    if too_large or len(region.boxes) > 62:
        return max(count_box(b, weights) for b in region.boxes)
    totals = {(1 << len(region.boxes)) - 1: 1}
    for group in groups:
        totals = _combine(totals, _classes(region, group, weights))
    return sum(totals.values())


def _combine(left: dict[int, int], right: dict[int, int]) -> dict[int, int]:
    result: dict[int, int] = {}
    for code, amount in left.items():
        for other, times in right.items():
            if code & other:
                result[code & other] = result.get(code & other, 0) + amount * times
    return result


def _groups(region: Region) -> list[tuple[int, ...]]:
    groups = [{d} for d in range(len(region.shape))]
    for box in region.boxes:
        for joint in box.joints:
            touched = [g for g in groups if g & set(joint.dims)]
            groups = [g for g in groups if not g & set(joint.dims)] + [set().union(*touched)]
    return [tuple(sorted(g)) for g in groups]


def _plain(region: Region, dim: int) -> bool:
    return all(isinstance(s := b.sets[dim], range) and s.step == 1 for b in region.boxes)


def _classes(
    region: Region, group: tuple[int, ...], weights: Mapping[int, NDArray[Any]]
) -> dict[int, int]:
    """Bit set of boxes → number (or weight) of the group's positions that lie in exactly those."""
    if len(group) == 1:
        dim = group[0]
        first = region.boxes[0].sets[dim]
        if all(_sets.equal(first, b.sets[dim]) for b in region.boxes):
            return {(1 << len(region.boxes)) - 1: _weight(first, weights.get(dim))}
        if dim not in weights and _plain(region, dim):
            return _span_classes([b.sets[dim] for b in region.boxes])
    sizes = [region.shape[d] for d in group]
    codes = np.zeros(sizes, dtype=np.int64)
    for bit, box in enumerate(region.boxes):
        codes |= membership(box, group, region.shape).astype(np.int64) << bit
    amounts: NDArray[Any] = np.ones(sizes, dtype=np.int64)
    for axis, dim in enumerate(group):
        if dim in weights:
            amounts = amounts * weights[dim].reshape(
                [-1 if a == axis else 1 for a in range(len(group))]
            )
    unique, inverse = np.unique(codes.reshape(-1), return_inverse=True)
    sums = np.bincount(inverse.reshape(-1), weights=amounts.reshape(-1).astype(np.float64))
    return {int(c): round(float(s)) for c, s in zip(unique, sums, strict=True) if c}


def _span_classes(spans: Sequence[IndexSet]) -> dict[int, int]:
    edges = sorted({e for s in spans if isinstance(s, range) for e in (s.start, s.stop)})
    result: dict[int, int] = {}
    for low, high in pairwise(edges):
        code = sum(1 << bit for bit, s in enumerate(spans) if low in s)
        if code:
            result[code] = result.get(code, 0) + high - low
    return result


def membership(box: Box, group: tuple[int, ...], shape: Shape) -> Mask:
    member: Mask = np.ones([1] * len(group), dtype=np.bool_)
    for axis, dim in enumerate(group):
        line = _sets.to_mask(box.sets[dim], shape[dim])
        member = member & line.reshape([-1 if a == axis else 1 for a in range(len(group))])
    for joint in box.joints:
        if set(joint.dims) <= set(group):
            member = member & _spread(joint, group, shape)
    return member
