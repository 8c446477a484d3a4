"""Shapes, dtypes, and pieces of tensors as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import torch

from solbench.gate._types import GateResult

CHUNK_ELEMENTS = {"cpu": 1 << 15, "cuda": 1 << 24}
"""Elements compared at a time. CPU: a chunk and its temporaries stay in the second-level cache, and
no threads are woken. CUDA: 64 MiB a temporary, so that launches do not count."""

# Magnitudes of the eight float4_e2m1 codes; bit 3 is the sign.
_FLOAT4_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def compare_form(output: torch.Tensor, reference: torch.Tensor, name: str) -> GateResult | None:
    if output.shape != reference.shape:
        expected, got = list(reference.shape), list(output.shape)
        reason = f"{name} has shape {got}, the reference {expected}"
        return GateResult("INCORRECT_SHAPE", reason, name, matched_ratio=0.0)
    if output.dtype != reference.dtype:
        reason = f"{name} has dtype {output.dtype}, the reference {reference.dtype}"
        return GateResult("INCORRECT_DTYPE", reason, name, matched_ratio=0.0)
    return None


def as_float32(piece: torch.Tensor) -> torch.Tensor:
    if str(piece.dtype) != "torch.float4_e2m1fn_x2":
        return piece.to(torch.float32)
    codes = piece.contiguous().view(torch.uint8)
    table = torch.tensor(_FLOAT4_MAGNITUDES, dtype=torch.float32, device=piece.device)
    table = torch.cat([table, -table])
    return torch.stack([table[(codes & 15).long()], table[(codes >> 4).long()]], dim=-1).reshape(-1)


def unravel(flat: int, shape: tuple[int, ...], elements: int) -> tuple[int, ...]:
    """Row-major index of a flat one. Packed 4-bit outputs have two elements a stored one."""
    stored = math.prod(shape)
    if stored and elements > stored:
        flat //= elements // stored
    index: list[int] = []
    for size in reversed(shape):
        flat, position = divmod(flat, size)
        index.append(position)
    return tuple(reversed(index))


def groups_to_join(references: Sequence[Mapping[str, torch.Tensor]]) -> Iterator[tuple[int, int]]:
    """Start and end of stretches of calls that are small enough to be joined."""
    elements = max((tensor.numel() for tensor in references[0].values()), default=1)
    size = max(1, CHUNK_ELEMENTS["cuda"] // max(1, elements))
    for start in range(0, len(references), size):
        yield start, min(start + size, len(references))


def can_be_joined(
    outputs: Sequence[Mapping[str, torch.Tensor]], references: Sequence[Mapping[str, torch.Tensor]]
) -> bool:
    """Whether outputs of several calls are so small and alike that they may be compared in one stack."""
    return all(
        reference.is_cuda
        and 0 < reference.numel() <= CHUNK_ELEMENTS["cuda"] // len(references)
        and reference.dtype.is_floating_point
        and "float4" not in str(reference.dtype)
        and compare_form(mine[name], reference, name) is None
        for mine, right in zip(outputs, references, strict=True)
        for name, reference in right.items()
    )
