"""Attention as a kernel in a lower class does it: softmax weights are rounded before they meet the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from solbench.bound._precision_formats import round_to

OPS = (
    "_scaled_dot_product_flash_attention_for_cpu",
    "scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
)
"""Calls that hold both products and the softmax between them."""

Results = tuple[torch.Tensor | None, ...]


def rounded_attention(kind: str, op: str) -> Callable[[Mapping[str, Any]], Results]:
    """The call with all operands of both products rounded, from its arguments by name.

    Weights are rounded before they are divided by their sum, which is exact: so kernels do it, with a row's
    largest weight at 1.
    """

    def call(arguments: Mapping[str, Any]) -> Results:
        query, key, value = (_wide(arguments[name]) for name in ("query", "key", "value"))
        logits = _logits(kind, query, _for_heads(key, query), arguments)
        largest = logits.amax(dim=-1, keepdim=True).clamp(min=torch.finfo(logits.dtype).min)
        weights = torch.exp(logits - largest)
        total = weights.sum(dim=-1, keepdim=True)
        values = round_to(kind, _for_heads(value, query), (-2,))
        output = round_to(kind, weights, (-1,)) @ values / total
        if op == "_scaled_dot_product_flash_attention_for_cpu":
            return output, (largest + total.log()).squeeze(-1)
        return (
            (output, weights / total) if op == "_scaled_dot_product_attention_math" else (output,)
        )

    return call


def _logits(
    kind: str, query: torch.Tensor, key: torch.Tensor, arguments: Mapping[str, Any]
) -> torch.Tensor:
    scale = arguments.get("scale")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    rounded = (round_to(kind, each, (-1,)) for each in (query, key))
    left, right = rounded
    logits: torch.Tensor = left @ right.transpose(-1, -2) * scale
    if arguments.get("is_causal"):
        later = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
        logits = logits.masked_fill(later, -torch.inf)
    mask: torch.Tensor | None = arguments.get("attn_mask")
    if mask is None:
        return logits
    return logits.masked_fill(~mask, -torch.inf) if mask.dtype is torch.bool else logits + mask


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor


def _for_heads(tensor: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Keys or values once for every head of the query."""
    groups = query.shape[-3] // tensor.shape[-3] if query.dim() > 3 else 1
    return tensor.repeat_interleave(groups, dim=-3) if groups > 1 else tensor
