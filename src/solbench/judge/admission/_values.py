"""Values of inputs and outputs: the same or not, other ones, and how far from float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

MOST_ERROR_ULPS = 64.0
"""RMS error of a reference against float64, in units in the last place of its RMS output: above this the
declared precision does not determine the answer."""


def error_ulps(output: torch.Tensor, truth: torch.Tensor) -> float:
    """RMS error of an output in units in the last place of its RMS value; 0 for whole numbers."""
    if not output.is_floating_point():
        return 0.0
    right = truth.to(torch.float64)
    finite = torch.isfinite(right)
    error = (output.to(torch.float64) - right)[finite].square().mean().sqrt()
    size = right[finite].square().mean().sqrt() * torch.finfo(output.dtype).eps
    if not size > 0:
        return 0.0 if error == 0 else float("inf")
    return float(error / size)


def same_value(left: Any, right: Any) -> bool:
    """Whether two arguments or outputs are equal, bit by bit where the type has no equality."""
    if not isinstance(left, torch.Tensor):
        return bool(left == right)
    return torch.equal(_bits(left), _bits(right))


def _bits(value: torch.Tensor) -> torch.Tensor:
    return value.view(torch.uint8) if value.dtype.itemsize == 1 and value.dim() else value


def different_values(value: Any, other: Any) -> Iterator[Any]:
    """Other values of an input, the most natural one first: ``other`` (of another seed) where it differs,
    else its elements in another order, else one more; scalars move a little, then more."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, float):
        yield from (value * 1.5, value + 1.0)
    elif not same_value(value, other):
        yield other
    else:
        yield from _rearranged(value)


def _rearranged(value: torch.Tensor) -> Iterator[torch.Tensor]:
    bits = _bits(value)  # packed formats know no order of their own
    flipped = bits.reshape(-1).flip(0).view(bits.shape).view(value.dtype)
    if not same_value(value, flipped):
        yield flipped
    if value.dtype == torch.bool:
        yield ~value
    elif value.dtype.itemsize > 1 or not value.is_floating_point():
        yield value + 1
