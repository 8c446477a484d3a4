"""Activations and weights."""

from __future__ import annotations

import torch


def normal(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
    mean: float = 0.0,
    std: float = 1.0,
) -> torch.Tensor:
    """Independent normal values."""
    return torch.randn(shape, dtype=dtype, device=device).mul_(std).add_(mean)


def uniform(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
    low: float = 0.0,
    high: float = 1.0,
) -> torch.Tensor:
    """Independent values in [low, high)."""
    return torch.rand(shape, dtype=dtype, device=device).mul_(high - low).add_(low)


def residual_stream(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, std: float = 1.0
) -> torch.Tensor:
    """Hidden states as between a model's blocks: tokens of differing size, a few large channels.

    Every fourth token is near zero, as padding is: there the epsilon of a normalisation counts.
    """
    values = torch.randn(shape, dtype=dtype, device=device)
    tokens = torch.rand((*shape[:-1], 1), device=device).mul_(1.5).add_(0.5)
    tokens.view(-1)[3::4] = 1e-3
    channels = torch.where(torch.rand(shape[-1], device=device) < 0.01, 8.0, 1.0)
    return values.mul_((std * tokens).to(dtype)).mul_(channels.to(dtype))


def weight_matrix(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, fan_in: int = 0
) -> torch.Tensor:
    """Normal weights of variance 1 / fan_in; fan_in is the last size unless given."""
    std = (fan_in or shape[-1]) ** -0.5
    return torch.randn(shape, dtype=dtype, device=device).mul_(std)


def norm_weight(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, center: float = 1.0
) -> torch.Tensor:
    """Gains of a normalisation as training leaves them: around ``center``, a fifth apart."""
    return torch.randn(shape, device=device).mul_(0.2).add_(center).to(dtype)


def integers(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, low: int = 0, high: int = 2
) -> torch.Tensor:
    """Whole numbers in [low, high)."""
    return torch.randint(low, high, shape, dtype=dtype, device=device)


def token_ids(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, vocabulary: int
) -> torch.Tensor:
    """Token numbers with the frequencies of words: the k-th is met about 1 / k as often as the first."""
    logarithm = torch.rand(shape, dtype=torch.float64, device=device) * (
        torch.tensor(float(vocabulary), dtype=torch.float64, device=device).log()
    )
    return (logarithm.exp().long() - 1).clamp_(0, vocabulary - 1).to(dtype)
