"""FP8, E4M3 (largest 448) and E5M2 (largest 57344), with float32 scales: ``value = code * scale``."""

from __future__ import annotations

import torch


def round_to_fp8(values: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn) -> torch.Tensor:
    """Nearest code, ties to even; magnitudes above the largest become the largest."""
    largest = torch.finfo(dtype).max
    return values.clamp(-largest, largest).to(dtype)


def _fp8_scale(largest_magnitude: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The scale that maps a magnitude to the format's largest; 1 for a magnitude of 0."""
    scale = largest_magnitude.to(torch.float32) / torch.finfo(dtype).max
    return torch.where(scale > 0, scale, 1.0)


def quantise_fp8_tensor(
    values: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes of the same shape, and one scale ()."""
    scale = _fp8_scale(values.abs().amax(), dtype)
    return round_to_fp8(values / scale, dtype), scale


def dequantise_fp8_tensor(codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Values in float32."""
    return codes.to(torch.float32) * scale


def quantise_fp8_rows(
    values: torch.Tensor, dtype: torch.dtype = torch.float8_e4m3fn
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes (…, n), and a scale (…, 1) for each row."""
    scales = _fp8_scale(values.abs().amax(dim=-1, keepdim=True), dtype)
    return round_to_fp8(values / scales, dtype), scales


def dequantise_fp8_rows(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Values in float32."""
    return codes.to(torch.float32) * scales


def _per_element(
    scales: torch.Tensor, rows: int, columns: int, block: tuple[int, int]
) -> torch.Tensor:
    """Block scales (…, R, C) repeated over their blocks and cut to (…, rows, columns)."""
    wide = scales.repeat_interleave(block[0], dim=-2).repeat_interleave(block[1], dim=-1)
    return wide[..., :rows, :columns]


def quantise_fp8_blocks(
    values: torch.Tensor,
    block_rows: int = 128,
    block_columns: int = 128,
    dtype: torch.dtype = torch.float8_e4m3fn,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes (m, n), and a scale for each block: (⌈m / block_rows⌉, ⌈n / block_columns⌉)."""
    rows, columns = values.shape
    block = (block_rows, block_columns)
    padding = (0, -columns % block_columns, 0, -rows % block_rows)
    padded = torch.nn.functional.pad(values.abs(), padding)
    tiled = padded.view(
        -(-rows // block_rows), block_rows, -(-columns // block_columns), block_columns
    )
    scales = _fp8_scale(tiled.amax(dim=(1, 3)), dtype)
    return round_to_fp8(values / _per_element(scales, rows, columns, block), dtype), scales


def dequantise_fp8_blocks(
    codes: torch.Tensor, scales: torch.Tensor, block_rows: int = 128, block_columns: int = 128
) -> torch.Tensor:
    """Values in float32."""
    rows, columns = codes.shape[-2:]
    block = (block_rows, block_columns)
    return codes.to(torch.float32) * _per_element(scales, rows, columns, block)
