"""What a mask makes zero stays zero behind more functions than a softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from solbench.bound import Demand

DemandOf = Callable[..., Demand]
INF = float("inf")


def scores(q: Any, k: Any, fill: float = -INF) -> Any:
    forbidden = torch.ones(8, 8, dtype=torch.bool).triu(1)
    return (q @ k.mT).masked_fill(forbidden, fill)


def filled_with_a_tensor(q: Any, k: Any) -> Any:
    s = q @ k.mT
    lowest = torch.full_like(s, torch.finfo(s.dtype).min)
    return torch.where(torch.ones(8, 8, dtype=torch.bool).tril(), s, lowest).softmax(-1)


WEIGHTS: dict[str, Callable[[Any, Any], Any]] = {
    "sigmoid": lambda q, k: scores(q, k).sigmoid(),
    "exp2": lambda q, k: torch.exp2(scores(q, k)),
    "relu of minus infinity": lambda q, k: torch.relu(scores(q, k, -1e9)),
    "squared relu": lambda q, k: torch.relu(scores(q, k, 0.0)).pow(2),
    "clamp around zero": lambda q, k: scores(q, k).softmax(-1).clamp(0, 1),
    "nan_to_num": lambda q, k: torch.nan_to_num(scores(q, k).softmax(-1)),
    "distances": lambda q, k: torch.softmax(-scores(q, k, INF), -1),
    "distances, halved": lambda q, k: torch.softmax(scores(q, k, INF) * -0.5, -1),
    "filled with a tensor": filled_with_a_tensor,
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_masked_pairs_are_not_multiplied(name: str, demand_of: DemandOf) -> None:
    inputs = [torch.empty(2, 8, 4, dtype=torch.bfloat16, device="meta") for _ in range(3)]
    found = demand_of(lambda q, k, v: WEIGHTS[name](q, k).to(v.dtype) @ v, *inputs)
    # 8·9/2 = 36 pairs of 2 heads, 4 channels, two products
    assert found.matrix_flops == {"bf16": 2 * 2 * 2 * 36 * 4}


@pytest.mark.parametrize(
    "weights",
    [
        lambda q, k: scores(q, k).softmax(-1).clamp(0.1, 1),  # no zero is left
        lambda q, k: torch.relu(scores(q, k, INF)),
        lambda q, k: scores(q, k).softmax(-1).pow(0),
    ],
)
def test_what_is_not_zero_counts(weights: Any, demand_of: DemandOf) -> None:
    inputs = [torch.empty(2, 8, 4, dtype=torch.bfloat16, device="meta") for _ in range(3)]
    found = demand_of(lambda q, k, v: weights(q, k) @ v, *inputs)
    # scores of 36 pairs, since the masked ones are not needed; all 64 weights meet v
    assert found.matrix_flops == {"bf16": 2 * 2 * (36 + 64) * 4}


def test_a_product_scaled_by_nothing_is_nothing(demand_of: DemandOf) -> None:
    found = demand_of(
        lambda x, w: (x @ w) * 0.0, *(torch.empty(8, 8, device="meta") for _ in range(2))
    )
    assert (found.matrix_flops, found.dram_read_bytes) == ({}, 0)
