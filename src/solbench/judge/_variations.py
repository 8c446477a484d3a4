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
    which = int(torch.randint(len(_EXPONENTS), (), generator=generator, device=generator.device))
    return value * 2.0 ** _EXPONENTS[which]


def _negated(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return -value


def _with_outliers(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    count = max(1, int(value.numel() * OUTLIER_SHARE))
    where = torch.randint(value.numel(), (count,), generator=generator, device=value.device)
    changed = value.clone().reshape(-1)
    changed[where] = changed[where] * OUTLIER_FACTOR
    return changed.view(value.shape)


def _sparse(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    kept = torch.rand(value.shape, generator=generator, device=value.device) < 0.5
    return value * kept.to(value.dtype)


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
    """The inputs with those of ``names`` changed; the same seed changes them in the same way on the same kind
    of device (drawing on the host what a GPU needs takes seconds)."""
    change = VARIATIONS[kind]
    chosen = {
        name: value
        for name, value in inputs.items()
        if name in names and isinstance(value, torch.Tensor) and _can_change(value)
    }
    generators = {
        device: torch.Generator(device).manual_seed(seed)
        for device in {value.device for value in chosen.values()}
    }
    changed = {name: change(value, generators[value.device]) for name, value in chosen.items()}
    return {**inputs, **changed}


def _can_change(value: torch.Tensor) -> bool:
    """Floats of two bytes and more: a scale could take an 8-bit one out of its range."""
    return bool(value.numel()) and value.dtype.is_floating_point and value.dtype.itemsize > 1
