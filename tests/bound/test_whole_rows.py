"""Sets of flat indices that take whole rows of the sizes they are split into, as pages of a cache do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from solbench.bound._reshape import _unflatten, _whole_rows

SIZES = (6, 4, 3, 2)


def flat_of(rows: list[int], row: int) -> np.ndarray:
    return np.concatenate([np.arange(r * row, (r + 1) * row) for r in rows])


@pytest.mark.parametrize(
    ("rows", "row", "expected"),
    [
        ([0, 3, 5], 24, (1, [0, 3, 5])),  # whole slices of the first size
        ([1, 2, 9], 6, (2, [1, 2, 9])),  # whole slices of the first two
        ([4, 7], 2, (3, [4, 7])),
        ([4, 7, 9], 1, None),
    ],
)
def test_the_fewest_leading_sizes_are_left(rows, row, expected):
    found = _whole_rows(flat_of(rows, row), SIZES)
    assert (found if found is None else (found[0], found[1].tolist())) == expected


@pytest.mark.parametrize("row", [24, 6, 2, 1])
def test_products_of_sets_cover_just_the_set(row):
    rows = [0, 1, 3, 5] if row == 24 else [0, 2, 3, 7, 11]
    flat = flat_of(rows, row)
    found = _unflatten(flat, SIZES)
    if isinstance(found, np.ndarray):
        covered = np.flatnonzero(found.reshape(-1)).tolist()
    else:
        boxes = [itertools.product(*sets) for sets in found]
        covered = sorted(int(np.ravel_multi_index(index, SIZES)) for box in boxes for index in box)
    assert covered == flat.tolist()
