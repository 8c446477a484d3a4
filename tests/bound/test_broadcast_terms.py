"""Products of tensors that repeat themselves: pieces and terms are multiplied before they are spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Demand

DemandOf = Callable[..., Demand]
NEIGHBOURS = torch.tensor(
    [[1, 2, 3], [0, 4, 5], [6, 7, 1], [2, 2, 0], [5, 6, 7], [3, 4, 0], [1, 1, 2], [3, 0, 6]]
)
"""All eight nodes are somebody's neighbour."""  # fmt: skip


def m(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def pairs(x: Any) -> tuple[Any, Any]:
    return x[:, None].expand(8, 8, 16), x[None].expand(8, 8, 16)


def repeated_pairs(x: Any, w: Any, b: Any) -> Any:
    first, second = x.unsqueeze(1).repeat(1, 8, 1), x.unsqueeze(0).repeat(8, 1, 1)
    return torch.relu(F.linear(torch.cat([first, second], -1), w.T, b))


def edges(x: Any, w: Any, neighbours: Any) -> Any:
    own = x[:, None].expand(8, 3, 16)
    return torch.relu(torch.cat([own, x[neighbours] - own], -1) @ w).amax(1)


def reflection(v: Any, x: Any) -> Any:
    return (torch.eye(16) - 2 * torch.outer(v, v)) @ x


@pytest.mark.parametrize(
    ("function", "inputs", "products"),
    [
        # [x_i, x_j] @ w: 8 rows with either half of w, 16 · 4 each
        (lambda x, w: torch.relu(torch.cat(pairs(x), -1) @ w), (m(8, 16), m(32, 4)), 2 * 8 * 64),
        (repeated_pairs, (m(8, 16), m(32, 4), m(4)), 2 * 8 * 64),
        # [x, g] @ w, g the same in all rows: 8 rows, and one
        (lambda x, g, w: torch.cat([x, g.expand(8, 16)], -1) @ w, (m(8, 16), m(16), m(32, 4)), 9 * 64),
        # (x_i - x_j) @ w: the products of x, once for both
        (lambda x, w: torch.relu((x[:, None] - x[None]) @ w), (m(8, 16), m(16, 4)), 8 * 64),
        # (x_i + y_j) @ w: 8 rows and 6
        (lambda x, y, w: torch.relu((x[:, None] + y[None]) @ w), (m(8, 16), m(6, 16), m(16, 4)), 14 * 64),
        # each node with either half of w, whoever its neighbours are
        (edges, (m(8, 16), m(32, 4), NEIGHBOURS), 2 * 8 * 64),
        # (1 - 2 v vT) x: vT x is 16 · 8; the rest scales
        (reflection, (m(16), m(16, 8)), 16 * 8),
    ],
)  # fmt: skip
def test_what_is_broadcast_is_multiplied_once(
    function: Any, inputs: Any, products: int, demand_of: DemandOf
) -> None:
    assert demand_of(function, *inputs).matrix_flops == {"fp32": 2 * products}


@pytest.mark.parametrize(
    ("function", "inputs", "products"),
    [
        # positions added to a batch: spreading out would be more, 4 · 8 + 8 rows
        (lambda x, p, w: torch.relu((x + p) @ w), (m(4, 8, 16), m(8, 16), m(16, 4)), 32 * 64),
        # what is not linear between pins every pair
        (lambda x, w: torch.relu(x[:, None] - x[None]) @ w, (m(8, 16), m(16, 4)), 64 * 64),
        # different rows of one tensor are different products
        (lambda x, w: torch.relu((x[:4] - x[4:]) @ w), (m(8, 16), m(16, 4)), 4 * 64),
    ],
)
def test_what_differs_counts(
    function: Any, inputs: Any, products: int, demand_of: DemandOf
) -> None:
    assert demand_of(function, *inputs).matrix_flops == {"fp32": 2 * products}


def test_the_mean_of_valid_rows_is_taken_before_the_product(demand_of: DemandOf) -> None:
    def run(x: Any, w: Any, lengths: Any) -> Any:
        valid = (torch.arange(6)[None] < lengths[:, None])[..., None].float()
        return ((x @ w) * valid).sum(1) / valid.sum(1)

    found = demand_of(run, m(2, 6, 8), m(8, 4), torch.tensor([5, 2]))
    # one row of sums a sequence: 2 · 8 · 4, in place of 7 valid rows
    assert found.matrix_flops == {"fp32": 2 * 2 * 8 * 4}


def test_a_condition_beside_an_image_is_convolved_once_for_each_edge(demand_of: DemandOf) -> None:
    def run(x: Any, c: Any, w: Any) -> Any:
        spread = c[:, :, None, None].expand(2, 5, 4, 4)
        return torch.relu(F.conv2d(torch.cat([x, spread], 1), w, padding=1))

    found = demand_of(run, m(2, 3, 4, 4), m(2, 5), m(6, 8, 3, 3))
    # 3 channels: (4·3 - 2)² windows · taps inside; 5 channels of the condition: 3² sums of weights
    assert found.matrix_flops == {"fp32": 2 * 2 * 6 * (3 * 100 + 5 * 9)}


def test_a_shift_on_both_sides_of_a_product_does_not_take_the_place_of_the_rest(
    demand_of: DemandOf,
) -> None:
    def scores(x: Any, gain: Any, shift: Any, a: Any, b: Any) -> Any:
        h = torch.tanh(x) * gain + shift
        return ((h @ a) @ (h @ b).T).softmax(-1)

    found = demand_of(scores, m(8, 16), m(16), m(16), m(16, 8), m(16, 8))
    # h @ a and h @ b, 8 · 16 · 8 each, and 8 · 8 sums of 8; a @ b.T first would take more
    assert found.matrix_flops == {"fp32": 2 * (2 * 8 * 16 * 8 + 8 * 8 * 8)}
