"""Lower precision as a kernel would do it: kinds of product that units offer, and how each rounds.

A *kind* is a format, and for a split product the number of its passes. Rounding is the kindest form of each: a
scale for every 128 elements of a sum, exact products, exact sums. A kernel can do no better with that unit and
still be faster, so what fails here fails there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

Round = Callable[[torch.Tensor, Sequence[int]], torch.Tensor]
"""Floating tensor and its summed dimensions → the same shape and dtype, rounded."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to multiply on a unit."""

    part: str
    """Precision class of the unit's instruction."""
    passes: int
    """Instructions for one product; more than one where operands are split into parts."""
    round: Round


SCALE_BLOCK = 128
"""Elements of a summed dimension under one scale. The sum of a block is scaled by ordinary arithmetic, some
three operations a result: 32 elements would keep the ordinary cores longer than the product takes."""


def _scaled(tensor: torch.Tensor, summed: Sequence[int], largest: float) -> torch.Tensor:
    """The scale that takes the largest element to ``largest``; broadcasts against the tensor."""
    dims = tuple(summed) or tuple(range(tensor.dim()))
    peak = _peaks(tensor.abs(), dims) if tensor.numel() else tensor.new_ones(())
    return torch.where(peak > 0, peak / largest, torch.ones_like(peak))


def _peaks(magnitude: torch.Tensor, dims: Sequence[int]) -> torch.Tensor:
    """Largest elements, of every block along the longest of the dimensions and of all along the others."""
    if not dims:
        return magnitude
    long = max(dims, key=lambda d: magnitude.shape[d])
    length = magnitude.shape[long]
    others = tuple(d for d in dims if d != long)
    peak = magnitude.amax(dim=others, keepdim=True) if others else magnitude
    blocks = [
        block.amax(dim=long, keepdim=True).expand_as(block)
        for block in torch.split(peak, SCALE_BLOCK, dim=long)
    ]
    return torch.cat(blocks, dim=long) if length > SCALE_BLOCK else blocks[0]


def _significand(bits: int) -> Round:
    """Round to nearest with so many significant bits; the exponent is free."""

    def round_(tensor: torch.Tensor, summed: Sequence[int]) -> torch.Tensor:
        mantissa, exponent = torch.frexp(tensor)
        return torch.ldexp(torch.round(mantissa * 2.0**bits) / 2.0**bits, exponent)

    return round_


def _through(dtype: torch.dtype, largest: float) -> Round:
    """A cast there and back, under scales."""

    def round_(tensor: torch.Tensor, summed: Sequence[int]) -> torch.Tensor:
        scale = _scaled(tensor, summed, largest)
        narrow = (tensor / scale).to(torch.float32).to(dtype)
        return narrow.to(tensor.dtype) * scale

    return round_


def _fixed(largest: int) -> Round:
    """Whole numbers up to ``largest``, under scales."""

    def round_(tensor: torch.Tensor, summed: Sequence[int]) -> torch.Tensor:
        scale = _scaled(tensor, summed, float(largest))
        return torch.round(tensor / scale) * scale

    return round_


_STEPS = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], dtype=torch.float64)
"""Between these lie the magnitudes of E2M1."""
_MAGNITUDES = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=torch.float64)
FP4_BLOCK = 16
"""Elements of a summed dimension that share an E4M3 scale in NVFP4."""


def _nvfp4(tensor: torch.Tensor, summed: Sequence[int]) -> torch.Tensor:
    """E2M1 with an E4M3 scale for 16 elements, and a scale for the whole tensor that those are relative to."""
    dim = max((d % tensor.dim() for d in summed), default=tensor.dim() - 1) if tensor.dim() else 0
    moved = tensor.movedim(dim, -1) if tensor.dim() else tensor.reshape(1)
    size = moved.shape[-1]
    padded = torch.nn.functional.pad(moved, (0, -size % FP4_BLOCK))
    blocks = padded.reshape(*padded.shape[:-1], -1, FP4_BLOCK).to(torch.float64)
    whole = _scaled(blocks, (), 6.0 * 448.0)
    own = blocks.abs().amax(dim=-1, keepdim=True) / 6.0 / whole
    scale = own.to(torch.float32).to(torch.float8_e4m3fn).to(torch.float64) * whole
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    codes = torch.bucketize((blocks / scale).abs().contiguous(), _STEPS.to(blocks.device))
    rounded = _MAGNITUDES.to(blocks.device)[codes] * blocks.sign() * scale
    return rounded.flatten(-2)[..., :size].to(tensor.dtype).movedim(-1, dim).reshape(tensor.shape)


KINDS: dict[str, Kind] = {
    "nvfp4": Kind("nvfp4", 1, _nvfp4),
    "int8": Kind("int8", 1, _fixed(127)),
    "fp8": Kind("fp8", 1, _through(torch.float8_e4m3fn, 448.0)),
    "fp16": Kind("fp16", 1, _through(torch.float16, 2.0**14)),
    "bf16": Kind("bf16", 1, _significand(8)),
    "int8x3": Kind("int8", 3, _fixed(1 << 14)),
    "tf32": Kind("tf32", 1, _significand(11)),
    "fp16x3": Kind("fp16", 3, _significand(22)),
    "bf16x3": Kind("bf16", 3, _significand(16)),
    "tf32x3": Kind("tf32", 3, _significand(22)),
    "fp32": Kind("fp32", 1, _significand(24)),
}
"""``x3``: both operands in two parts, the product of the two low ones left out: it is below the last bit.
int8 in two parts has 7 and 8 bits under a scale; fp16 needs scales too, for its range."""


def round_to(kind: str, tensor: torch.Tensor, summed: Sequence[int]) -> torch.Tensor:
    """A float32 or float64 tensor as the unit would read it, summed over the dimensions ``summed``."""
    return KINDS[kind].round(tensor, summed)
