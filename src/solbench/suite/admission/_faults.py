"""Right answers with a common bug: they must fail."""

from __future__ import annotations

import torch

from solbench.judge.admission import Change


def _off_by_one_row(output: torch.Tensor) -> torch.Tensor:
    dim = 0 if output.shape[0] > 1 else -1
    return output.roll(1, dim)


def _wrong_scale(output: torch.Tensor) -> torch.Tensor:
    """2 % too large; whole numbers one too large."""
    if not output.is_floating_point():
        return output + 1
    return (output.to(torch.float64) * 1.02).to(output.dtype)


def _missing_part(output: torch.Tensor) -> torch.Tensor:
    """The first eighth was never written; the last may be zero by right, as padding is."""
    flat = output.clone().reshape(-1)
    flat[: max(1, flat.numel() // 8)] = 0
    return flat.view(output.shape)


FAULTS: dict[str, Change] = {
    "off_by_one_row": _off_by_one_row,
    "wrong_scale": _wrong_scale,
    "missing_part": _missing_part,
}
"""What is nearly right; none may pass for any output."""
