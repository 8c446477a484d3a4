"""Tokens on their way to experts."""

from __future__ import annotations

import torch


def router_logits(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, skew: float = 0.7
) -> torch.Tensor:
    """Scores of experts (…, experts) whose popularity differs as in a trained model."""
    popularity = torch.randn(shape[-1], device=device) * skew
    return (torch.randn(shape, device=device) * 1.5 + popularity).to(dtype)


def correction_bias(
    shape: tuple[int, ...], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """The small bias that a balanced router adds to its scores before it chooses."""
    return (torch.randn(shape, device=device) * 0.05).to(dtype)


def routing(
    device: torch.device, tokens: int, experts: int, top_k: int, skew: float = 0.7
) -> dict[str, torch.Tensor]:
    """Each token's experts and their weights, which sum to 1.

    ``indices`` (tokens, top_k), int32, distinct in a row, and ``weights`` (tokens, top_k), float32.
    """
    logits = router_logits((tokens, experts), torch.float32, device, skew=skew)
    best = logits.softmax(dim=-1).topk(top_k, dim=-1)
    weights = best.values / best.values.sum(dim=-1, keepdim=True)
    return {"indices": best.indices.to(torch.int32), "weights": weights}
