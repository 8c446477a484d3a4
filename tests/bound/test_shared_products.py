"""Products that several nodes read, quotients, and sums of products with factors of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand

DemandOf = Callable[..., Demand]


def m(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def scores(q: Any, k: Any) -> Any:
    return (F.elu(q) + 1) @ (F.elu(k) + 1).mT


def divided_at_the_end(q: Any, k: Any, v: Any) -> Any:
    s = scores(q, k)
    return (s @ v) / s.sum(-1, keepdim=True)


def divided_first(q: Any, k: Any, v: Any) -> Any:
    s = scores(q, k)
    return (s / s.sum(-1, keepdim=True)) @ v


@pytest.mark.parametrize("function", [divided_at_the_end, divided_first])
def test_attention_without_a_softmax_and_mask_is_linear_in_length(
    function: Any, demand_of: DemandOf
) -> None:
    # of 2 heads: k.T @ v and q @ that, 64 · 8 · 8 each, and q @ (sum of k), 64 · 8; q @ k.T is 64 · 64 · 8
    found = demand_of(function, m(2, 64, 8), m(2, 64, 8), m(2, 64, 8))
    assert found.matrix_flops == {"fp32": 2 * 2 * (2 * 64 * 8 * 8 + 64 * 8)}


def with_softmax(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T
    return s.softmax(-1) @ v, s.sum(-1)


def also_returned(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T
    return s, s.sum(-1)


@pytest.mark.parametrize(
    ("function", "products"),
    [
        (with_softmax, 2 * 64 * 64 * 8),  # the softmax needs every score
        (also_returned, 64 * 64 * 8),
    ],
)
def test_a_product_that_somebody_needs_is_made(
    function: Any, products: int, demand_of: DemandOf
) -> None:
    found = demand_of(function, m(64, 8), m(64, 8), m(64, 8))
    assert found.matrix_flops == {"fp32": 2 * products}


def test_a_difference_of_two_attentions_meets_the_values_once(demand_of: DemandOf) -> None:
    def differential(q: Any, k: Any, v: Any, share: Any) -> Any:
        p = (q @ k.mT).softmax(-1)
        return p[0] @ v - share * (p[1] @ v)

    found = demand_of(differential, m(2, 16, 8), m(2, 16, 8), m(16, 16), m(1))
    # two times q @ k.T, and (p0 - share · p1) @ v
    assert found.matrix_flops == {"fp32": 2 * (2 * 256 * 8 + 256 * 16)}


def test_a_factor_for_each_row_of_the_shared_tensor_keeps_both_products(
    demand_of: DemandOf,
) -> None:
    def run(x: Any, a: Any, b: Any, g: Any) -> Any:
        return x @ a + g * (x @ b)

    found = demand_of(run, m(8, 16), m(16, 4), m(16, 4), m(8, 1))
    assert found.matrix_flops == {"fp32": 2 * 2 * 8 * 16 * 4}


def test_a_sum_of_quotients_is_no_contraction(demand_of: DemandOf) -> None:
    assert demand_of(lambda x, y: (x / y).sum(-1), m(8, 16), m(8, 16)).matrix_flops == {}
