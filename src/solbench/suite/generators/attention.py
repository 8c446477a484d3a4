"""Intermediate results of attention."""

from __future__ import annotations

import torch


def attention_parts(
    device: torch.device, rows: int, heads: int, parts: int, channels: int
) -> dict[str, torch.Tensor]:
    """Results of a split decode, float32.

    ``partial`` (rows, parts, heads, channels) and ``lse`` (rows, parts, heads). A row has from one to all of
    its parts; one that it lacks is zero with a log-sum-exp of minus infinity.
    """
    used = torch.randint(1, parts + 1, (rows, 1, 1), device=device)
    absent = torch.arange(parts, device=device)[:, None] >= used
    partial = torch.randn(rows, parts, heads, channels, device=device)
    lse = torch.randn(rows, parts, heads, device=device) + 8.0
    return {
        "partial": partial.masked_fill_(absent[..., None], 0.0),
        "lse": lse.masked_fill_(absent, float("-inf")),
    }
