"""E2M1 four-bit floats, two a byte (the first in the low half), and NVFP4: blocks of 16 with E4M3 scales.

NVFP4: ``value = code * block scale * global scale``. The global scale maps the tensor's largest magnitude to
6 * 448, so that block scales use the range of E4M3.
"""

from __future__ import annotations

import torch


def _fp4_codes(values: torch.Tensor) -> torch.Tensor:
    """Four-bit codes, uint8: nearest magnitude of 0, ½, 1, 1½, 2, 3, 4, 6, ties to the even code, then sign."""
    size = values.abs().to(torch.float32)
    # Steps are ½ below 2, 1 up to 4, then 2; torch.round takes ties to even.
    below_two = (size * 2).round()
    up_to_four = size.round() + 2
    above = (size / 2).round() + 4
    code = torch.where(size < 2, below_two, torch.where(size < 4, up_to_four, above)).clamp(max=7)
    return code.to(torch.uint8) | (torch.signbit(values).to(torch.uint8) << 3)


def _fp4_values(codes: torch.Tensor) -> torch.Tensor:
    """Values of four-bit codes, float32."""
    magnitude = (codes & 7).to(torch.float32)
    steps = torch.where(
        magnitude < 4, magnitude / 2, torch.where(magnitude < 6, magnitude - 2, magnitude * 2 - 8)
    )
    return torch.where((codes & 8) > 0, -steps, steps)


def round_to_fp4(values: torch.Tensor) -> torch.Tensor:
    """The nearest E2M1 values, in the dtype of ``values``; magnitudes above 6 become 6."""
    return _fp4_values(_fp4_codes(values)).to(values.dtype)


def pack_fp4(values: torch.Tensor) -> torch.Tensor:
    """Round (…, n), n even, to E2M1 and pack to ``float4_e2m1fn_x2`` (…, n / 2)."""
    codes = _fp4_codes(values)
    return (codes[..., 0::2] | (codes[..., 1::2] << 4)).contiguous().view(torch.float4_e2m1fn_x2)


def unpack_fp4(packed: torch.Tensor) -> torch.Tensor:
    """Values (…, n), float32, of packed (…, n / 2)."""
    pairs = packed.view(torch.uint8)
    return _fp4_values(torch.stack((pairs & 15, pairs >> 4), dim=-1).flatten(-2))


def quantise_nvfp4(
    values: torch.Tensor, each: int = 0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Packed codes (…, n / 2), block scales (…, n / 16) in E4M3, and the global scale (), float32.

    n must be a multiple of 16. The first ``each`` dimensions hold tensors with a global scale of their own.
    """
    values = values.to(torch.float32)
    blocks = torch.unflatten(values, -1, (-1, 16))
    largest = blocks.abs().amax(dim=-1)
    global_scale = largest.flatten(each).amax(dim=-1) / (6.0 * 448.0)
    global_scale = torch.where(global_scale > 0, global_scale, 1.0)
    own = global_scale[(...,) + (None,) * (largest.dim() - each)]
    scales = (largest / 6.0 / own).clamp(max=448.0).to(torch.float8_e4m3fn)
    step = scales.to(torch.float32) * own
    scaled = blocks / torch.where(step > 0, step, 1.0)[..., None]
    # A block whose scale rounds to 0 holds nothing that NVFP4 can tell from 0.
    scaled = torch.where(step[..., None] > 0, scaled, 0.0)
    return pack_fp4(scaled.flatten(-2)), scales, global_scale


def dequantise_nvfp4(
    packed: torch.Tensor, scales: torch.Tensor, global_scale: torch.Tensor
) -> torch.Tensor:
    """Values (…, n) in float32."""
    step = scales.to(torch.float32) * global_scale
    return (torch.unflatten(unpack_fp4(packed), -1, (-1, 16)) * step[..., None]).flatten(-2)
