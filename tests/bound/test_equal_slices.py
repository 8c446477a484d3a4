"""Index lists and their classes, against plain loops: long ones are kept narrow and in masks."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from solbench.bound import _region, _reps, _reshape


@given(st.lists(st.integers(0, 400), max_size=12))
def test_a_class_is_named_by_its_first_index(labels: list[int]) -> None:
    # labels up to 16 times their number are looked up in a table, larger ones are sorted
    found = _reps.canonical(np.array(labels, dtype=np.int64))
    first = [labels.index(label) for label in labels]
    if len(set(labels)) == len(labels):
        assert found is None
    elif len(set(labels)) == 1:
        assert found is _reps.CONST
    else:
        assert isinstance(found, np.ndarray)
        assert (found.dtype, found.tolist()) == (np.int64, first)


def test_a_table_reads_the_classes_of_what_it_reads() -> None:
    table = np.array([2, 0, 1, 3])
    assert _reps.through_table(None, 4, table) is None
    assert _reps.through_table(_reps.CONST, 4, table) is _reps.CONST
    # indices 0 and 3 hold the same slice: the table reads it at its places 1 and 3
    same = _reps.through_table(np.array([0, 1, 2, 0]), 4, table)
    assert isinstance(same, np.ndarray)
    assert same.tolist() == [0, 1, 2, 1]


@given(st.sets(st.integers(0, 23), min_size=1), st.sampled_from([(4, 6), (2, 3, 4), (6, 4), (24,)]))
def test_a_set_under_another_shape_holds_the_same_elements(
    flat: set[int], shape: tuple[int, ...]
) -> None:
    indices = np.array(sorted(flat), dtype=np.int64)
    region = _region.of_boxes((24,), [_region.make_box([indices], [], (24,))])
    found = _reshape.through(region, shape)
    assert found.count() == len(flat)
    everything = tuple(range(len(shape)))
    held = np.zeros(shape, dtype=bool)
    for box in found.boxes:
        held |= _region.membership(box, everything, shape)
    places = list(product(*map(range, shape)))
    assert {i for i, place in enumerate(places) if held[place]} == flat


def test_a_product_of_sets_too_large_for_a_mask_is_found() -> None:
    # rows 1 and 4 of 5, columns 3, 3 + 2^20, … of 2^25; a hole in it is not followed
    columns = np.arange(3, 1 << 25, 1 << 20)
    lines = np.concatenate([columns + (1 << 25), columns + (4 << 25)])
    region = _region.of_boxes((5 << 25,), [_region.make_box([lines], [], (5 << 25,))])
    (box,) = _reshape.through(region, (5, 1 << 25)).boxes
    assert [list(s) for s in box.sets] == [[1, 4], columns.tolist()]
    holed = _region.of_boxes((5 << 25,), [_region.make_box([lines[1:]], [], (5 << 25,))])
    assert _reshape.through(holed, (5, 1 << 25)).count() == 1  # the least that is known
