"""Tensors in quantised formats, each with its scales."""

from __future__ import annotations

import torch

from solbench.suite.formats.fp4 import quantise_nvfp4
from solbench.suite.formats.fp8 import quantise_fp8_blocks, quantise_fp8_rows, quantise_fp8_tensor

TOGETHER = 1 << 26
"""Elements of float32 matrices that are quantised in one go: 256 MiB, and some copies of it."""


def _matrix(device: torch.device, rows: int, columns: int, std: float, fan_in: int) -> torch.Tensor:
    """Normal values whose rows differ in size, so that scales differ; ``fan_in`` > 0 sets the size."""
    size = (
        torch.rand(rows, 1, device=device).mul_(1.5).add_(0.5).mul_(fan_in**-0.5 if fan_in else std)
    )
    return torch.randn(rows, columns, device=device).mul_(size)


def fp8_tensor(
    device: torch.device, rows: int, columns: int, std: float = 1.0, fan_in: int = 0
) -> dict[str, torch.Tensor]:
    """``values`` (rows, columns), E4M3, and one ``scale`` (), float32."""
    values, scale = quantise_fp8_tensor(_matrix(device, rows, columns, std, fan_in))
    return {"values": values, "scale": scale}


def fp8_rows(
    device: torch.device, rows: int, columns: int, std: float = 1.0, fan_in: int = 0
) -> dict[str, torch.Tensor]:
    """``values`` (rows, columns), E4M3, and ``scales`` (rows, 1), float32."""
    values, scales = quantise_fp8_rows(_matrix(device, rows, columns, std, fan_in))
    return {"values": values, "scales": scales}


def fp8_blocks(
    device: torch.device,
    rows: int,
    columns: int,
    std: float = 1.0,
    fan_in: int = 0,
    block_rows: int = 128,
    block_columns: int = 128,
) -> dict[str, torch.Tensor]:
    """``values`` (rows, columns), E4M3, and ``scales``, float32, one a block; sizes rounded up."""
    matrix = _matrix(device, rows, columns, std, fan_in)
    values, scales = quantise_fp8_blocks(matrix, block_rows, block_columns)
    return {"values": values, "scales": scales}


def fp8_expert_blocks(
    device: torch.device, experts: int, rows: int, columns: int
) -> dict[str, torch.Tensor]:
    """Weights of experts: ``values`` (experts, rows, columns), E4M3, ``scales`` of blocks of 128 by 128."""
    # One expert after another: all of them in float32 would not fit beside the result.
    made = [fp8_blocks(device, rows, columns, fan_in=columns) for _ in range(experts)]
    return {key: torch.stack([each[key] for each in made]) for key in ("values", "scales")}


def nvfp4_blocks(
    device: torch.device, rows: int, columns: int, std: float = 1.0, fan_in: int = 0
) -> dict[str, torch.Tensor]:
    """Two E2M1 a byte, a scale for each 16 along a row, and one for all.

    ``values`` (rows, columns / 2), ``scales`` (rows, columns / 16), E4M3, ``global_scale`` (), float32.
    """
    matrix = _matrix(device, rows, columns, std, fan_in)
    values, scales, global_scale = quantise_nvfp4(matrix)
    return {"values": values, "scales": scales, "global_scale": global_scale}


def nvfp4_expert_blocks(
    device: torch.device, experts: int, rows: int, columns: int
) -> dict[str, torch.Tensor]:
    """Weights of experts: as ``nvfp4_blocks`` with an expert axis in front, ``global_scale`` (experts,)."""
    # A few experts at a time: one by one is slow, and all of them in float32 would not fit beside the result.
    together = max(1, TOGETHER // (rows * columns))
    made = []
    for start in range(0, experts, together):
        count = min(together, experts - start)
        matrices = [_matrix(device, rows, columns, 1.0, columns) for _ in range(count)]
        made.append(quantise_nvfp4(torch.stack(matrices), each=1))
    # Packed values cannot be copied as they are: torch knows no copy of that dtype on every device.
    packed = torch.cat([values.view(torch.uint8) for values, _, _ in made])
    return {
        "values": packed.view(torch.float4_e2m1fn_x2),
        "scales": torch.cat([scales for _, scales, _ in made]),
        "global_scale": torch.cat([global_scale for _, _, global_scale in made]),
    }
