"""Answers that must fail: null answers, and right answers with a common bug."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from solbench.suite.formats import quantise_fp8_rows, round_to_fp4

Change = Callable[[torch.Tensor], torch.Tensor]


def _noise(output: torch.Tensor) -> torch.Tensor:
    """Other values of the same distribution: the output in another order."""
    generator = torch.Generator(device=output.device).manual_seed(7)
    order = torch.randperm(output.numel(), generator=generator, device=output.device)
    return output.reshape(-1)[order].view(output.shape)


def _mean(output: torch.Tensor) -> torch.Tensor:
    return torch.full_like(output, output.to(torch.float64).mean().item())


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


NULL_ANSWERS: dict[str, Change] = {
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
    "mean": _mean,
    "noise": _noise,
}
"""What takes no work; none may pass for any output."""

FAULTS: dict[str, Change] = {
    "off_by_one_row": _off_by_one_row,
    "wrong_scale": _wrong_scale,
    "missing_part": _missing_part,
}
"""What is nearly right; none may pass for any output."""


def in_lower_precision(inputs: Mapping[str, object]) -> dict[str, object]:
    """The inputs in the next lower precision, in their own dtypes: what a cheaper kernel would read.

    float32 → bfloat16, 16-bit floats → FP8 with a scale for each row, FP8 → FP4 with a scale for each row,
    FP4 → without its mantissa bit. Scales of a quantised problem stay.
    """
    dtypes = {value.dtype for value in inputs.values() if isinstance(value, torch.Tensor)}
    quantised = dtypes & {torch.float8_e4m3fn, torch.float4_e2m1fn_x2}
    lowered: dict[str, object] = {}
    for name, value in inputs.items():
        keep = not isinstance(value, torch.Tensor) or (quantised and value.dtype == torch.float32)
        lowered[name] = value if keep or not isinstance(value, torch.Tensor) else _lowered(value)
    return lowered


def _lowered(value: torch.Tensor) -> torch.Tensor:
    if value.dtype == torch.float32:
        return value.to(torch.bfloat16).to(torch.float32)
    if value.dtype in (torch.bfloat16, torch.float16) and value.dim():
        codes, scales = quantise_fp8_rows(value.to(torch.float32))
        return (codes.to(torch.float32) * scales).to(value.dtype)
    if value.dtype == torch.float8_e4m3fn and value.dim():
        wide = value.to(torch.float32)
        step = wide.abs().amax(dim=-1, keepdim=True).clamp_min(1e-30) / 6.0
        return (round_to_fp4(wide / step) * step).to(value.dtype)
    if value.dtype == torch.float4_e2m1fn_x2:
        # Bit 0 of each half is the mantissa.
        return (value.view(torch.uint8) & 0xEE).view(torch.float4_e2m1fn_x2)
    return value
