"""Windows over a tensor that repeats itself: weights that meet equal slices are summed first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand
from solbench.bound._equal_windows import products
from solbench.bound._reps import CONST

DemandOf = Callable[..., Demand]


def m(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def by_repeat(x: Any, w: Any) -> Any:
    return F.conv2d(x.repeat_interleave(2, 2).repeat_interleave(2, 3), w, padding=1)


def by_expand(x: Any, w: Any) -> Any:
    wide = x[:, :, :, None, :, None].expand(1, 3, 4, 2, 4, 2).reshape(1, 3, 8, 8)
    return F.conv2d(wide, w, padding=1)


def by_interpolation(x: Any, w: Any) -> Any:
    return F.conv2d(F.interpolate(x, scale_factor=2, mode="nearest"), w, padding=1)


@pytest.mark.parametrize("enlarged", [by_repeat, by_expand, by_interpolation])
def test_a_convolution_of_an_enlarged_image_multiplies_each_pixel_by_each_tap_once(
    enlarged: Any, demand_of: DemandOf
) -> None:
    # a pixel stands twice: windows ask for w0, w0 + w1, w1 + w2 and w2 of it, which follow from three products.
    # 4 pixels · 3 along each dimension, 3 channels in, 5 out; the plain count is 22² windows · taps
    found = demand_of(lambda x, w: torch.relu(enlarged(x, w)), m(1, 3, 4, 4), m(5, 3, 3, 3))
    assert found.matrix_flops == {"fp32": 2 * 3 * 5 * 12**2}


def test_a_depthwise_convolution_of_an_enlarged_image(demand_of: DemandOf) -> None:
    def run(x: Any, w: Any) -> Any:
        return F.conv2d(F.interpolate(x, scale_factor=2), w, padding=1, groups=3)

    assert demand_of(run, m(1, 3, 4, 4), m(3, 1, 3, 3)).matrix_flops == {"fp32": 2 * 3 * 12**2}


@pytest.mark.parametrize(("padding", "products_a_dimension"), [(0, 1), (1, 3)])
def test_a_convolution_of_one_vector_spread_over_an_image(
    padding: int, products_a_dimension: int, demand_of: DemandOf
) -> None:
    # without padding all windows are equal; with it w0 + w1, w0 + w1 + w2 and w1 + w2 are asked for
    found = demand_of(
        lambda x, w: F.conv2d(x.expand(1, 4, 8, 8), w, padding=padding),
        m(1, 4, 1, 1),
        m(6, 4, 3, 3),
    )
    assert found.matrix_flops == {"fp32": 2 * 4 * 6 * products_a_dimension**2}


def test_an_image_put_beside_itself_repeats_its_windows(demand_of: DemandOf) -> None:
    # 14 windows of 3 taps over 16 positions that repeat after 8: 8 · 3 products
    found = demand_of(lambda x, w: F.conv1d(x.repeat(1, 1, 2), w), m(1, 1, 8), m(4, 1, 3))
    assert found.matrix_flops == {"fp32": 2 * 4 * 8 * 3}


def test_different_pixels_are_not_merged(demand_of: DemandOf) -> None:
    found = demand_of(lambda x, w: F.conv1d(x, w), m(1, 1, 16), m(4, 1, 3))
    assert found.matrix_flops == {"fp32": 2 * 4 * 14 * 3}


def test_windows_with_weights_of_their_own_share_nothing() -> None:
    # two windows over two equal positions: one product each with weights of their own, one if they share them
    table = np.array([[0, 1], [0, 1]])
    inside = np.ones((2, 2), dtype=np.bool_)
    assert products(inside, table, CONST, shared=False).tolist() == [1, 1]
    assert products(inside, table, CONST, shared=True).tolist() == [1, 0]
    assert products(inside, table, None, shared=True).tolist() == [2, 2]
