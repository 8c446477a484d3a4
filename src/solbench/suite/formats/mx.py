"""Microscaling formats (OCP MX 1.0): blocks of 32 along the last axis with a power-of-two scale, E8M0.

The scale's exponent is that of the block's largest magnitude less the element format's largest exponent
(2 for E2M1, 8 for E4M3); elements beyond the largest saturate.
"""

from __future__ import annotations

import torch

from solbench.suite.formats.fp4 import pack_fp4, unpack_fp4
from solbench.suite.formats.fp8 import round_to_fp8


def _mx_scales(blocks: torch.Tensor, largest_exponent: int) -> torch.Tensor:
    """Power-of-two scales (…,), E8M0, of blocks (…, 32); the least one for a block of zeros."""
    exponent = torch.frexp(blocks.abs().amax(dim=-1)).exponent - 1
    empty = (blocks == 0).all(dim=-1)
    biased = torch.where(empty, 0, exponent - largest_exponent + 127).clamp(0, 254)
    return biased.to(torch.uint8).view(torch.float8_e8m0fnu)


def quantise_mxfp4(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed E2M1 codes (…, n / 2) and scales (…, n / 32); n must be a multiple of 32."""
    blocks = torch.unflatten(values.to(torch.float32), -1, (-1, 32))
    scales = _mx_scales(blocks, 2)
    return pack_fp4((blocks / scales.to(torch.float32)[..., None]).flatten(-2)), scales


def dequantise_mxfp4(packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Values (…, n) in float32."""
    blocks = torch.unflatten(unpack_fp4(packed), -1, (-1, 32))
    return (blocks * scales.to(torch.float32)[..., None]).flatten(-2)


def quantise_mxfp8(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """E4M3 codes (…, n) and scales (…, n / 32); n must be a multiple of 32."""
    blocks = torch.unflatten(values.to(torch.float32), -1, (-1, 32))
    scales = _mx_scales(blocks, 8)
    return round_to_fp8((blocks / scales.to(torch.float32)[..., None]).flatten(-2)), scales


def dequantise_mxfp8(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Values (…, n) in float32."""
    blocks = torch.unflatten(codes.to(torch.float32), -1, (-1, 32))
    return (blocks * scales.to(torch.float32)[..., None]).flatten(-2)
