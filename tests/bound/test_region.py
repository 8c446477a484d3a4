"""Regions against plain boolean masks: every operation counted both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solbench.bound import _access, _region, _reps, _reshape, _sets
from solbench.bound._access import Along, Fixed, Table
from solbench.bound._region import Box, Joint, Region

SHAPE = (4, 6, 3)


def dense(region: Region) -> np.ndarray:
    """The region as a mask over its whole shape."""
    mask = np.zeros(region.shape, dtype=bool)
    dims = tuple(range(len(region.shape)))
    for box in region.boxes:
        mask |= np.broadcast_to(_region.membership(box, dims, region.shape), region.shape)
    return mask


@st.composite
def index_sets(draw: st.DrawFn, size: int) -> _sets.IndexSet:
    chosen = draw(st.sets(st.integers(0, size - 1), min_size=1))
    return _sets.from_indices(np.array(sorted(chosen)))


@st.composite
def boxes(draw: st.DrawFn) -> Box | None:
    sets = [draw(index_sets(n)) for n in SHAPE]
    joints = []
    if draw(st.booleans()):
        bits = draw(st.lists(st.booleans(), min_size=24, max_size=24))
        joints.append(Joint((0, 1), np.array(bits).reshape(4, 6)))
    return _region.make_box(sets, joints, SHAPE)


@st.composite
def regions(draw: st.DrawFn) -> Region:
    return _region.of_boxes(SHAPE, draw(st.lists(boxes(), max_size=4)))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(region=regions())
def test_a_union_is_counted_once(region: Region) -> None:
    assert region.count() == int(dense(region).sum())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(region=regions(), weights=st.lists(st.integers(0, 5), min_size=6, max_size=6))
def test_a_weighted_count_is_a_weighted_sum(region: Region, weights: list[int]) -> None:
    line = np.array(weights)
    assert region.count({1: line}) == int((dense(region) * line[None, :, None]).sum())


@settings(max_examples=100, deadline=None, derandomize=True)
@given(region=regions(), box=boxes())
def test_cutting_and_removing_a_box_are_complements(region: Region, box: Box | None) -> None:
    if box is None:
        return
    other = dense(_region.of_boxes(SHAPE, [box]))
    assert (dense(region.intersect(box)) == (dense(region) & other)).all()
    assert (dense(region.subtract(box)) == (dense(region) & ~other)).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(region=regions(), target=st.sampled_from([(72,), (24, 3), (4, 18), (2, 2, 6, 3), (3, 24)]))
def test_a_reshape_keeps_the_elements(region: Region, target: tuple[int, ...]) -> None:
    moved = _reshape.through(region, target)
    assert (dense(moved) == dense(region).reshape(target)).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(region=regions())
def test_a_pull_reads_what_an_index_reads(region: Region) -> None:
    table = np.array([3, 0, 0, 2])
    axes = (Along(2, 1, 1), Table(0, table), Fixed(1), Along(1, 5, -1))
    shape = (4, 4, 2, 6)
    expected = np.zeros(shape, dtype=bool)
    for i, j, k in zip(*np.nonzero(dense(region)), strict=True):
        expected[1 + k, table[i], 1, 5 - j] = True
    assert (dense(_access.pull(region, axes, shape)) == expected).all()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(box=boxes())
def test_a_push_is_where_the_reads_fall_inside(box: Box | None) -> None:
    if box is None:
        return
    table = np.array([3, 0, 0, 2, 1])
    ranks = (3, 5, 6)
    pushed = _access.push(box, (Table(1, table), Along(2, 5, -1), Along(0)), ranks)
    inside = dense(_region.of_boxes(SHAPE, [box]))
    expected = np.zeros(ranks, dtype=bool)
    for a, b, c in np.ndindex(ranks):
        expected[a, b, c] = inside[table[b], 5 - c, a]
    assert (dense(_region.of_boxes(ranks, [pushed])) == expected).all()


def test_slices_of_a_loop_merge_into_one_box() -> None:
    parts = [Region((100, 8), (Box((range(i, i + 1), range(8))),)) for i in range(100)]
    assert _region.unite((100, 8), parts).is_full


def test_equal_slices_split_and_merge_with_their_dimensions() -> None:
    # four copies of three rows: i % 3
    rep = _reps.canonical(np.arange(12) % 3)
    split = _reps.reshape([rep], [12], [4, 3])
    assert split[0] is _reps.CONST
    assert split[1] is None
    (merged,) = _reps.reshape(split, [4, 3], [12])
    assert merged is not None
    assert not isinstance(merged, str)
    assert (merged == np.arange(12) % 3).all()


@pytest.mark.parametrize("size", [2, 7, 8])
@pytest.mark.parametrize("start", [0, 1])
def test_every_other_index_taken_away_leaves_the_others(size: int, start: int) -> None:
    left = _sets.subtract(range(size), range(start, size, 2))
    assert list(left) == [i for i in range(size) if (i - start) % 2]
