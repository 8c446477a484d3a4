"""Answers that take no work: none may pass for any output."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

Change = Callable[[torch.Tensor], torch.Tensor]
Argument = torch.Tensor | bool | int | float

_FP8_MAX = torch.finfo(torch.float8_e4m3fn).max
_FP4_MAX = 6.0


def _noise(output: torch.Tensor) -> torch.Tensor:
    """Other values of the same distribution: the output in another order."""
    generator = torch.Generator(device=output.device).manual_seed(7)
    order = torch.randperm(output.numel(), generator=generator, device=output.device)
    return output.reshape(-1)[order].view(output.shape)


def _mean(output: torch.Tensor) -> torch.Tensor:
    return torch.full_like(output, output.to(torch.float64).mean().item())


def _uninitialised(output: torch.Tensor) -> torch.Tensor:
    """What memory may hold that no one has written: any bytes."""
    generator = torch.Generator(device=output.device).manual_seed(11)
    count = output.numel() * output.element_size()
    noise = torch.randint(
        0, 256, (count,), dtype=torch.uint8, generator=generator, device=output.device
    )
    if output.dtype == torch.bool:
        noise &= 1
    return noise.view(output.dtype).view(output.shape)


NULL_ANSWERS: dict[str, Change] = {
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
    "mean": _mean,
    "noise": _noise,
    "uninitialised": _uninitialised,
}
"""Name → what it makes of the right output."""


def copies(inputs: Mapping[str, object], output: torch.Tensor) -> dict[str, torch.Tensor]:
    """Inputs that have the form of an output, by name."""
    return {
        name: value
        for name, value in inputs.items()
        if isinstance(value, torch.Tensor)
        and value.shape == output.shape
        and value.dtype == output.dtype
    }


def in_lower_precision(inputs: Mapping[str, Argument]) -> dict[str, Argument]:
    """The inputs in the next lower precision, in their own dtypes: what a cheaper kernel would read.

    float32 → bfloat16, 16-bit floats → FP8 with a scale for each row, FP8 → FP4 with a scale for each row,
    FP4 → without its mantissa bit. Scales of a quantised problem stay.
    """
    dtypes = {value.dtype for value in inputs.values() if isinstance(value, torch.Tensor)}
    quantised = dtypes & {torch.float8_e4m3fn, torch.float4_e2m1fn_x2}
    lowered: dict[str, Argument] = {}
    for name, value in inputs.items():
        keep = not isinstance(value, torch.Tensor) or (quantised and value.dtype == torch.float32)
        lowered[name] = value if keep or not isinstance(value, torch.Tensor) else _lowered(value)
    return lowered


def _lowered(value: torch.Tensor) -> torch.Tensor:
    if value.dtype == torch.float32:
        return value.to(torch.bfloat16).to(torch.float32)
    if value.dtype in (torch.bfloat16, torch.float16) and value.dim() and value.numel():
        step = _steps(value, _FP8_MAX)
        return ((value / step).to(torch.float8_e4m3fn).to(torch.float32) * step).to(value.dtype)
    if value.dtype == torch.float8_e4m3fn and value.dim() and value.numel():
        step = _steps(value, _FP4_MAX)
        return (_nearest_fp4(value.to(torch.float32) / step) * step).to(value.dtype)
    if value.dtype == torch.float4_e2m1fn_x2:
        # Bit 0 of each half is the mantissa.
        return (value.view(torch.uint8) & 0xEE).view(torch.float4_e2m1fn_x2)
    return value


def _steps(value: torch.Tensor, largest: float) -> torch.Tensor:
    """A scale for each row, float32: it maps the row's largest magnitude to the format's."""
    magnitude = value.to(torch.float32).nan_to_num(0.0, 0.0, 0.0).abs()
    steps = magnitude.amax(dim=-1, keepdim=True) / largest
    return torch.where(steps > 0, steps, 1.0)


def _nearest_fp4(value: torch.Tensor) -> torch.Tensor:
    """The nearest of 0, ½, 1, 1½, 2, 3, 4, 6, with its sign."""
    codes = torch.tensor((0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0), device=value.device)
    between = (codes[1:] + codes[:-1]) / 2
    return codes[torch.bucketize(value.abs(), between)].copysign(value)
