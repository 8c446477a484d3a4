"""Other values than a workload's own distribution gives: what is tuned to that distribution fails on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

Value = torch.Tensor | bool | int | float
Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]

OUTLIER_SHARE = 1e-3
OUTLIER_FACTOR = 16.0
"""Powers of two keep every value as exact in its type as it was."""
_EXPONENTS = (-4, -3, -2, 2, 3, 4)


def _scaled(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    which = int(torch.randint(len(_EXPONENTS), (), generator=generator))
    return value * 2.0 ** _EXPONENTS[which]


def _negated(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return -value


def _with_outliers(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    count = max(1, int(value.numel() * OUTLIER_SHARE))
    where = torch.randint(value.numel(), (count,), generator=generator).to(value.device)
    changed = value.clone().reshape(-1)
    changed[where] = changed[where] * OUTLIER_FACTOR
    return changed.view(value.shape)


def _sparse(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    kept = torch.rand(value.shape, generator=generator) < 0.5
    return value * kept.to(value.device, value.dtype)


VARIATIONS: Mapping[str, Change] = {
    "scale": _scaled,
    "sign": _negated,
    "outliers": _with_outliers,
    "sparsity": _sparse,
}
"""Name → change of one floating input. Shapes and types stay."""


def varied(
    inputs: Mapping[str, Value], names: tuple[str, ...], kind: str, seed: int
) -> dict[str, Value]:
    """The inputs with those of ``names`` changed; the same seed changes them in the same way."""
    generator = torch.Generator().manual_seed(seed)
    change = VARIATIONS[kind]
    return {
        name: change(torch.as_tensor(value), generator)
        if name in names and _can_change(value)
        else value
        for name, value in inputs.items()
    }


def _can_change(value: Value) -> bool:
    """Floats of two bytes and more: a scale could take an 8-bit one out of its range."""
    if not isinstance(value, torch.Tensor) or not value.numel():
        return False
    return value.dtype.is_floating_point and value.dtype.itemsize > 1
