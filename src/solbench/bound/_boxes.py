"""Boxes: products of index sets, one a dimension, cut by *joints*.

A joint is a mask over two or more dimensions at once (a causal mask over query and key): spelled out, or as one
interval a row where it is large.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _sets
from solbench.bound._bands import Bands, prefix_sums
from solbench.bound._sets import DENSE_LIMIT, IndexSet, Mask

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """A mask over several dimensions at once, over their whole sizes."""

    dims: tuple[int, ...]
    mask: Mask | Bands

    def dense(self) -> Mask:
        """The mask spelled out; not for more than ``DENSE_LIMIT`` elements."""
        return self.mask.dense() if isinstance(self.mask, Bands) else self.mask

    @property
    def holdable(self) -> bool:
        """Whether it can be spelled out."""
        return not isinstance(self.mask, Bands) or prod(self.mask.shape) <= DENSE_LIMIT


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
        mask = joint.mask
        if isinstance(mask, Bands):
            if not mask.all():
                _add_joint(kept, joint, shape)
        elif mask.ndim == 0:
            if not mask:
                return None
        elif mask.ndim == 1:
            dim = joint.dims[0]
            result[dim] = _sets.intersect(result[dim], _sets.from_mask(mask))
        elif not mask.all():
            _add_joint(kept, joint, shape)
    box = Box(tuple(result), tuple(k for k in kept if not k.mask.all()))
    return None if box.is_empty() else box


def _add_joint(kept: list[Joint], joint: Joint, shape: Shape) -> None:
    for other in [k for k in kept if set(k.dims) & set(joint.dims)]:
        dims = tuple(sorted({*other.dims, *joint.dims}))
        both = _both(other, joint)
        if both is not None:
            kept.remove(other)
            joint = both
        elif prod(shape[d] for d in dims) <= DENSE_LIMIT:
            kept.remove(other)
            joint = Joint(dims, spread(other, dims, shape) & spread(joint, dims, shape))
    kept.append(joint)


def _both(left: Joint, right: Joint) -> Joint | None:
    """Two masks of intervals over the same two dimensions as one."""
    first, second = left.mask, right.mask
    if not isinstance(first, Bands) or not isinstance(second, Bands):
        return None
    if left.dims == right.dims:
        return Joint(left.dims, first.intersect(second))
    turned = second.transposed() if set(left.dims) == set(right.dims) else None
    return None if turned is None else Joint(left.dims, first.intersect(turned))


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
            if isinstance(joint.mask, Bands):
                joint = Joint(shared, joint.mask.all_along(lost[0])) if lost else joint
            else:
                joint = Joint(shared, np.asarray(joint.mask.all(axis=lost)))
            if joint.mask.ndim == 2 and joint.mask is not first.mask and not lost:
                return None  # two masks over the same dimensions that cannot be joined
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
        joined = _sharing(pair, dim, box)
        if joined is None:
            return separate(box, shape)
        joints = [j for j in joints if dim not in j.dims]
        joints.append(joined)
    return make_box(box.sets, joints, shape)


def _sharing(pair: Sequence[Joint], dim: int, box: Box) -> Joint | None:
    """Pairs of the other dimensions of two joints for which some index of ``dim`` lies in both."""
    banded = [j for j in pair if isinstance(j.mask, Bands) and not j.holdable]
    if not banded:
        (first, left), (second, right) = (_lines(j, dim, box) for j in pair)
        return Joint((first, second), (left @ right.T) > 0)
    other = next(j for j in pair if j is not banded[0])
    turned = _columns(banded[0], dim)
    if turned is None or len(banded) > 1:
        return None
    line, lines = _lines(other, dim, box)
    row = next(d for d in banded[0].dims if d != dim)
    if len(lines) * len(turned.low) > DENSE_LIMIT:
        return None
    low, high = turned.low, np.maximum(turned.high, turned.low)
    chosen = _sets.to_array(box.sets[dim])
    places = np.searchsorted(chosen, [low, high])  # the lines are cut to the box's set
    before = [prefix_sums(each) for each in lines]
    mask = np.stack([own[places[1]] > own[places[0]] for own in before])
    return Joint((line, row), mask)


def _columns(joint: Joint, dim: int) -> Bands | None:
    """The intervals of a joint along ``dim``."""
    assert isinstance(joint.mask, Bands)
    return joint.mask if joint.dims[1] == dim else joint.mask.transposed()


def _lines(joint: Joint, dim: int, box: Box) -> tuple[int, NDArray[np.float32]]:
    """The other dimension of a two-dimensional joint, and the mask with ``dim`` second, within its set."""
    axis = joint.dims.index(dim)
    dense = joint.dense()
    mask = dense if axis == 1 else dense.T
    return joint.dims[1 - axis], mask[:, _sets.to_array(box.sets[dim])].astype(np.float32)


def spread(joint: Joint, dims: tuple[int, ...], shape: Shape) -> Mask:
    """The joint's mask with axes for all of ``dims`` (size 1 where it does not depend)."""
    order = np.argsort(joint.dims)
    mask = np.transpose(joint.dense(), order)
    return mask.reshape([shape[d] if d in joint.dims else 1 for d in dims])


def without_ones(joint: Joint) -> Joint:
    """The same mask without its dimensions of size 1."""
    if isinstance(joint.mask, Bands):
        return joint
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


def membership(box: Box, group: tuple[int, ...], shape: Shape) -> Mask:
    """The box as a mask over some dimensions, with joints that lie within them."""
    member: Mask = np.ones([1] * len(group), dtype=np.bool_)
    for axis, dim in enumerate(group):
        line = _sets.to_mask(box.sets[dim], shape[dim])
        member = member & line.reshape([-1 if a == axis else 1 for a in range(len(group))])
    for joint in box.joints:
        if set(joint.dims) <= set(group):
            member = member & spread(joint, group, shape)
    return member
