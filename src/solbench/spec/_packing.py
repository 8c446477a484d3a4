"""Four-bit floats (E2M1), packed two values a byte, low half first."""

from __future__ import annotations

import itertools

import torch

FLOAT4_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Values of the codes 0 to 7; bit 3 is the sign."""

_SIGN_BIT = 8


def pack_float4(values: torch.Tensor) -> torch.Tensor:
    """Round ``values`` (…, n) to E2M1 and pack them to ``float4_e2m1fn_x2`` (…, n / 2).

    Round to nearest, ties to the even code, magnitudes above 6 to 6; n must be even.
    """
    codes = _codes(values.to(torch.float32))
    packed = codes[..., 0::2] | (codes[..., 1::2] << 4)
    return packed.contiguous().view(torch.float4_e2m1fn_x2)


def unpack_float4(packed: torch.Tensor) -> torch.Tensor:
    """Values of a packed tensor (…, n / 2), of dtype ``float4_e2m1fn_x2`` or uint8, as float32 (…, n)."""
    pairs = packed.view(torch.uint8)
    codes = torch.stack((pairs & 0xF, pairs >> 4), dim=-1).flatten(-2)
    magnitudes = torch.tensor(FLOAT4_MAGNITUDES, device=packed.device)
    values = magnitudes[(codes & 0x7).long()]
    return torch.where(codes >= _SIGN_BIT, -values, values)


def _codes(values: torch.Tensor) -> torch.Tensor:
    size = values.abs()
    codes = torch.zeros_like(size, dtype=torch.uint8)
    for code, (low, high) in enumerate(itertools.pairwise(FLOAT4_MAGNITUDES)):
        middle = (low + high) / 2
        # A value in the middle goes to the even one of the two codes.
        codes += size > middle if code % 2 == 0 else size >= middle
    return codes + _SIGN_BIT * (values < 0).to(torch.uint8)
