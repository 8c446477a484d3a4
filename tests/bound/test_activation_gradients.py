"""Gradients of activations: bytes by hand, and every call against PyTorch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from solbench.bound import derive_bound, function_program


def gradient(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    def run(x: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        (found,) = torch.autograd.grad(function(x), x, upstream)
        return found

    return run


def of(function: Callable[..., torch.Tensor], *shapes: tuple[int, ...]) -> tuple[int, int]:
    inputs = [torch.empty(shape, device="meta") for shape in shapes]
    (bound,) = derive_bound(function_program(function, inputs), verify=True)
    assert bound.error is None
    assert bound.complete
    assert bound.verified
    return bound.dram_read_bytes, bound.dram_write_bytes


@pytest.mark.parametrize("name", ["hardshrink", "softshrink"])
def test_a_pointwise_gradient_reads_input_and_upstream_gradient(name: str) -> None:
    read, written = of(gradient(getattr(functional, name)), (4, 6), (4, 6))
    assert (read, written) == (2 * 24 * 4, 24 * 4)


def test_one_row_of_it_reads_one_row() -> None:
    whole = gradient(functional.hardshrink)
    read, written = of(lambda x, g: whole(x, g)[1], (4, 6), (4, 6))
    assert (read, written) == (2 * 6 * 4, 6 * 4)


def test_a_gated_gradient_reads_the_upstream_gradient_once() -> None:
    # x is 4 x 6, its gate halves the last dimension: the upstream gradient is 4 x 3
    read, written = of(gradient(lambda x: functional.glu(x, -1)), (4, 6), (4, 3))
    assert (read, written) == ((24 + 12) * 4, 24 * 4)


def test_one_half_of_a_gated_gradient_still_reads_both_halves() -> None:
    whole = gradient(lambda x: functional.glu(x, -1))
    read, written = of(lambda x, g: whole(x, g)[:, :1], (4, 6), (4, 3))
    # column 0 reads columns 0 and 3 of x and column 0 of the upstream gradient
    assert (read, written) == ((8 + 4) * 4, 4 * 4)
