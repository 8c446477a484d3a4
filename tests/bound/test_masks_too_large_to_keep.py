"""A mask that follows from constants but has too many elements to keep must never be priced as no mask."""

from __future__ import annotations

import pytest
import torch

from solbench.bound import derive_bound, function_program

LENGTH = 16384  # 2^28 mask elements, four times what is kept

MASKS = {
    "compared positions": lambda n: torch.arange(n)[:, None] < torch.arange(n)[None, :],
    "a triangle of ones": lambda n: torch.ones(n, n, dtype=torch.bool).triu(1),
    "a triangle, inverted": lambda n: ~torch.ones(n, n, dtype=torch.bool).tril(),
}


def bound_of(apply):
    def run(q, k, v):
        scores = apply(q @ k.transpose(0, 1), q.shape[0])
        return torch.softmax(scores, -1) @ v

    tensors = {name: torch.empty(LENGTH, 64, device="meta") for name in "qkv"}
    (bound,) = derive_bound(function_program(run, tensors, name="attention"), "h200")
    return bound


@pytest.mark.parametrize("mask", MASKS)
def test_nothing_under_a_filled_mask_is_counted_and_the_bound_says_so(mask: str) -> None:
    bound = bound_of(lambda scores, n: scores.masked_fill(MASKS[mask](n), float("-inf")))
    assert bound.matrix_flops == {}
    assert any("too large to keep" in assumption for assumption in bound.assumptions)


def test_an_added_triangle_of_minus_infinities_is_a_mask_too() -> None:
    bound = bound_of(lambda scores, n: scores + torch.full((n, n), float("-inf")).triu(1))
    assert bound.matrix_flops == {}


def test_without_a_mask_everything_is_counted() -> None:
    bound = bound_of(lambda scores, n: scores)
    # two products of n x n x 64
    assert bound.matrix_flops == {"fp32": 2 * 2 * LENGTH * LENGTH * 64}
    assert not any("too large to keep" in assumption for assumption in bound.assumptions)
