"""Traffic curves: values worked out by hand, and laws that every curve keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solbench.bound.cache import (
    Curve,
    Window,
    chain_curve,
    closed_form,
    convolution_curve,
    least_traffic,
    merged,
    product_curve,
    scaled,
    summed,
    unfused_curve,
)
from solbench.bound.cache._curve import frontier
from solbench.bound.cache._nest import divisors, thinned

sizes = st.integers(1, 40)


def test_a_curve_is_read_at_the_next_smaller_capacity() -> None:
    curve = Curve((10, 20, 40), (100, 60, 50))
    assert [curve.at(c) for c in (9, 10, 19.5, 20, 39, 40, 1e9)] == [None, 100, 100, 60, 60, 50, 50]
    assert curve.least == 50


def test_only_schedules_that_nothing_beats_stay() -> None:
    curve = frontier(np.array([10, 20, 15, 30]), np.array([9, 9, 7, 5]))
    assert curve == Curve((10, 15, 30), (9, 7, 5))


def test_curves_of_work_one_after_the_other_add_and_of_alternatives_compete() -> None:
    first, second = Curve((10, 20), (8, 4)), Curve((5, 30), (7, 1))
    assert summed((first, second)) == Curve((10, 20, 30), (15, 11, 5))
    assert merged((first, second)) == Curve((5, 20, 30), (7, 4, 1))
    assert scaled(first, 3) == Curve((10, 20), (24, 12))


def test_a_product_that_fits_moves_each_element_once() -> None:
    # 4×6 times 6×8: 24 + 48 + 32
    assert product_curve(4, 8, 6).least == 104


def test_a_square_tile_of_sums_is_the_best_use_of_a_small_cache() -> None:
    # 64³; an 8×8 tile of sums with one column of 8 and one row of 8: 80 elements.
    # A and B are each read 64/8 = 8 times (2 · 8 · 4096), every sum is written once (4096).
    assert product_curve(64, 64, 64).at(80) == 2 * 8 * 4096 + 4096
    # With one element of each, A and B are read for every multiply-add.
    assert product_curve(64, 64, 64).at(3) == 2 * 64**3 + 4096


def test_a_matrix_times_a_vector_never_reads_the_matrix_twice() -> None:
    # 64×64 times 64: sums held one at a time, the vector read again for each of 64 rows
    curve = product_curve(64, 1, 64)
    assert curve.at(3) == 4096 + 64 * 64 + 64
    assert curve.at(64 + 64 + 1) == 4096 + 64 + 64


def test_a_convolution_that_fits_moves_each_element_once() -> None:
    # 2 images, 3 channels of 6×6 (4×4 outputs under 3×3 taps), 5 filters
    windows = (Window(4, 3), Window(4, 3))
    assert convolution_curve(2, 3, 5, windows).least == 2 * 3 * 36 + 5 * 3 * 9 + 2 * 5 * 16


def test_a_convolution_tile_reads_the_rim_of_its_neighbours() -> None:
    # one channel and filter, 4 outputs under 3 taps; one output at a time reads 3 inputs, 4 times over
    curve = convolution_curve(1, 1, 1, (Window(4, 3),))
    assert curve.at(3 + 3 + 1) == 4 * 3 + 3 + 4
    assert curve.least == 6 + 3 + 4
    assert Window(4, 3, stride=2, dilation=2).read(4) == 3 * 2 + 2 * 2 + 1


def test_a_fused_chain_never_moves_its_intermediate() -> None:
    # (8×4 · 4×16) · 16×4: A 32, B 64, D 64, E 32; the intermediate of 128 stays
    fused = chain_curve(8, 4, 16, 4, softmax=False)
    assert fused.least == 32 + 64 + 64 + 32
    assert unfused_curve(8, 4, 16, 4).least == 32 + 64 + 64 + 32 + 2 * 128


def test_attention_keeps_rows_of_queries_and_streams_keys_and_values() -> None:
    # 64 queries, 64 keys, width 8. A tile of 16 queries: 16·(8 + 8 + 1 + 2) + 1 = 305 elements;
    # queries and results once (2 · 512), keys and values 64/16 = 4 times (4 · 1024).
    curve = chain_curve(64, 8, 64, 8, softmax=True)
    found = curve.at(305)
    assert found is not None
    assert found <= 2 * 512 + 4 * 1024
    assert curve.at(64 * 19 + 1) == 2 * 512 + 1024


def test_a_softmax_needs_its_whole_row_where_weights_are_held() -> None:
    with_softmax = chain_curve(1 << 10, 4, 64, 4, softmax=True)
    without = chain_curve(1 << 10, 4, 64, 4, softmax=False)
    for capacity in (32, 64, 128, 300):
        held, free = with_softmax.at(capacity), without.at(capacity)
        assert held is not None
        assert free is not None
        assert free <= held


def test_the_floor_is_at_least_the_closed_form() -> None:
    for macs, capacity in ((10**6, 100), (10**9, 1000), (8**3, 12)):
        # at a phase of 2S the two differ by what fits the first, empty phase
        assert least_traffic(macs, capacity) >= closed_form(macs, capacity)


def test_a_floor_is_nothing_where_everything_fits() -> None:
    assert least_traffic(1, 1000) <= 3
    with pytest.raises(ValueError, match="0 elements"):
        least_traffic(10, 0)


@settings(max_examples=60, deadline=None)
@given(sizes, sizes, sizes, st.integers(3, 4000))
def test_no_tiling_beats_the_floor(rows: int, columns: int, inner: int, capacity: int) -> None:
    tiled = product_curve(rows, columns, inner).at(capacity)
    assert tiled is not None
    assert least_traffic(rows * columns * inner, capacity) <= tiled
    assert tiled >= rows * inner + inner * columns + rows * columns


@settings(max_examples=30, deadline=None)
@given(sizes, sizes, sizes, sizes, st.booleans())
def test_more_capacity_never_means_more_traffic(
    rows: int, inner: int, middle: int, columns: int, softmax: bool
) -> None:
    curve = chain_curve(rows, inner, middle, columns, softmax=softmax)
    assert list(curve.capacities) == sorted(set(curve.capacities))
    assert list(curve.traffic) == sorted(set(curve.traffic), reverse=True)
    unfused = unfused_curve(rows, inner, middle, columns)
    for capacity in unfused.capacities:
        fused, separate = curve.at(capacity), unfused.at(capacity)
        assert fused is not None
        assert separate is not None
        assert fused <= separate


def test_divisors_are_complete_and_thinned_evenly() -> None:
    assert divisors(36) == [1, 2, 3, 4, 6, 9, 12, 18, 36]
    assert thinned(divisors(36), 3) == [1, 6, 36]
    assert thinned([1, 7], 5) == [1, 7]
