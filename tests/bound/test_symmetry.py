"""Symmetric products: one half is enough, also under masks, with weights, and of matrices that commute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from solbench.bound import Demand

DemandOf = Callable[..., Demand]


def m(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def without_diagonal(x: Any) -> Any:
    return (x @ x.T).masked_fill(torch.eye(16, dtype=torch.bool), -torch.inf).softmax(-1)


def triangle_times_itself(x: Any) -> Any:
    lower = torch.tril(x)
    return lower @ lower.T


@pytest.mark.parametrize(
    ("function", "inputs", "products"),
    [
        # 16·15/2 pairs of different rows
        (without_diagonal, (m(16, 8),), 120 * 8),
        # entries i >= j: of 8 · 8 the sum over k <= j: sum of (j + 1) · (8 - j) = 120
        (triangle_times_itself, (m(8, 8),), 120),
        # the lower half is no more than one half already
        (lambda x: torch.tril(x @ x.T), (m(16, 8),), 136 * 8),
        # rows 0 to 7: 36 pairs among themselves, 8 · 8 with the others
        (lambda x: (x @ x.T)[:8], (m(16, 8),), (36 + 64) * 8),
        # a weight of each summed row: 8·9/2 pairs of columns, 16 rows
        (lambda x, w: x.T @ (w[:, None] * x), (m(16, 8), m(16)), 36 * 16),
        # a weight of each column is no symmetry
        (lambda x, w: x.T @ (w * x), (m(16, 8), m(8)), 64 * 16),
    ],
)
def test_mirror_images_are_not_multiplied(
    function: Any, inputs: Any, products: int, demand_of: DemandOf
) -> None:
    assert demand_of(function, *inputs).matrix_flops == {"fp32": 2 * products}


def newton_schulz(x: Any) -> Any:
    for _ in range(5):
        a = x @ x.mT
        x = 3.4 * x + (-4.7 * a + 2.0 * a @ a) @ x
    return x


def with_identities(x: Any) -> Any:
    a = x @ x.T
    t = 1.5 * torch.eye(16) - 0.5 * a
    return (t @ a) @ t


@pytest.mark.parametrize(
    ("function", "inputs", "products"),
    [
        # 136 entries of x·xT and three products of 16 · 16 matrices that commute
        (with_identities, (m(16, 32),), 136 * 32 + 2 * 136 * 16),
        # two symmetric matrices that do not commute
        (lambda x, y: (x @ x.T) @ (y @ y.T), (m(16, 16), m(16, 16)), 3 * 16**3 - 2 * 120 * 16),
        # a number added to every element does not commute
        (lambda x: (x @ x.T + 1) @ (x @ x.T), (m(16, 16),), 136 * 16 + 16**3),
    ],
)
def test_products_of_a_family_are_symmetric(
    function: Any, inputs: Any, products: int, demand_of: DemandOf
) -> None:
    assert demand_of(function, *inputs).matrix_flops == {"fp32": 2 * products}


def test_a_gram_matrix_on_the_way_is_halved_twice(demand_of: DemandOf) -> None:
    # 4 matrices, 5 steps: 136 · 32 and 136 · 16 of symmetric products, 16 · 16 · 32 of the other
    found = demand_of(newton_schulz, m(4, 16, 32))
    assert found.matrix_flops == {"fp32": 2 * 4 * 5 * (136 * 32 + 136 * 16 + 16 * 16 * 32)}
