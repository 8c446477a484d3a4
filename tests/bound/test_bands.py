"""Masks of intervals agree with the masks that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solbench.bound._bands import Bands, bands, triangle

SIZES = st.integers(1, 7)


@st.composite
def masks(draw: st.DrawFn, *, rising: bool = False) -> Bands:
    height, width = draw(SIZES), draw(SIZES)
    ends = st.lists(st.integers(-2, width + 2), min_size=height, max_size=height)
    low, high = np.array(draw(ends)), np.array(draw(ends))
    return bands(np.sort(low), np.sort(high), width) if rising else bands(low, high, width)


@given(masks())
def test_any_and_all(mask: Bands) -> None:
    dense = mask.dense()
    assert mask.any() == dense.any()
    assert mask.all() == dense.all()
    assert mask.all_along(0).tolist() == dense.all(axis=0).tolist()
    assert mask.all_along(1).tolist() == dense.all(axis=1).tolist()


@given(masks(), st.data())
def test_any_along_a_set(mask: Bands, data: st.DataObject) -> None:
    height, width = mask.shape
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, height - 1), min_size=1))))
    columns = np.array(sorted(data.draw(st.sets(st.integers(0, width - 1), min_size=1))))
    dense = mask.dense()
    assert mask.any_along(0, rows).tolist() == dense[rows].any(axis=0).tolist()
    assert mask.any_along(1, columns).tolist() == dense[:, columns].any(axis=1).tolist()


@given(masks())
def test_the_complement_is_exact_or_refused(mask: Bands) -> None:
    rest = mask.complement()
    middle = ((mask.low > 0) & (mask.high < mask.width) & (mask.low < mask.high)).any()
    assert (rest is None) == bool(middle)
    if rest is not None:
        assert rest.dense().tolist() == (~mask.dense()).tolist()


@given(masks(rising=True))
def test_transposed_is_exact_or_refused(mask: Bands) -> None:
    turned = mask.transposed()
    if turned is not None:
        assert turned.dense().tolist() == mask.dense().T.tolist()


@given(masks(), st.data())
def test_weighted_counts(mask: Bands, data: st.DataObject) -> None:
    rows, columns = (
        np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) for n in mask.shape
    )
    expected = int((mask.dense() * rows[:, None] * columns[None, :]).sum())
    assert mask.weighted_count(rows, columns) == expected


@pytest.mark.parametrize("diagonal", [-9, -2, 0, 1, 3, 9])
@pytest.mark.parametrize("lower", [True, False])
def test_triangles(diagonal: int, lower: bool) -> None:
    expected = np.ones((4, 6), dtype=bool)
    expected = np.tril(expected, diagonal) if lower else np.triu(expected, diagonal)
    assert triangle(4, 6, diagonal, lower=lower).dense().tolist() == expected.tolist()


def test_a_triangle_is_its_own_transpose_turned() -> None:
    turned = triangle(5, 5, 0, lower=True).transposed()
    assert turned is not None
    assert turned.equals(triangle(5, 5, 0, lower=False))


def test_a_slice_of_rows_and_columns() -> None:
    mask = triangle(8, 8, 0, lower=True)
    part = mask.moved(np.array([2, 4, 6]), 1, 4)
    assert part.dense().tolist() == mask.dense()[[2, 4, 6], 1:5].tolist()
