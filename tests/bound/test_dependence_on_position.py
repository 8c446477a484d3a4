"""Facts that must not be invented: equal slices and zeros where values merely are not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from solbench.bound import Bound, derive_bound, function_program


def _meta(*shape: int) -> torch.Tensor:
    return torch.empty(*shape, device="meta")


def _bound(function: Callable[..., Any], *inputs: torch.Tensor) -> Bound:
    (bound,) = derive_bound(function_program(function, list(inputs)), "h200")
    assert bound.error is None
    return bound


def _by_table(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    table = torch.tensor([0.0, 0.5, 1.0, -1.0])
    return table[x.abs().long() % 4] @ w


def _rotated(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex(x.view(64, 16, 2))
    return torch.view_as_real(pairs * pairs).flatten(1) @ w


@pytest.mark.parametrize(
    "function",
    [
        _by_table,
        _rotated,
        lambda x, w: torch.linalg.inv(x @ x.mT)[:, :32] @ w,
        lambda x, w: torch.histc(x, 64 * 32).view(64, 32) @ w,
        lambda x, w: torch.bucketize(x, torch.arange(9.0)).float() @ w,
        lambda x, w: x.view(torch.int8)[:, 64:96].float() @ w,
        lambda x, w: torch.fft.fft(x).real @ w,
        lambda x, w: F.unfold(x.view(1, 1, 64, 32), (1, 32))[0].mT @ w,
    ],
    ids=["table", "rotated", "inverse", "histogram", "buckets", "bytes", "fourier", "windows"],
)
def test_a_product_after_an_op_by_position_is_not_shrunk(function: Callable[..., Any]) -> None:
    bound = _bound(function, _meta(64, 32), _meta(32, 16))
    own = {"int8": 2 * 64 * 32 * 16}
    total = sum(bound.matrix_flops.values())
    assert total >= 2 * 64 * 32 * 16 or bound.matrix_flops == own


def test_rows_found_by_nonzero_are_distinct() -> None:
    def routed(x: torch.Tensor, w: torch.Tensor, expert: torch.Tensor) -> torch.Tensor:
        rows = torch.nonzero(expert == 1).flatten()
        return x[rows] @ w

    bound = _bound(routed, _meta(8, 16), _meta(16, 4), torch.tensor([0, 1, 1, 0, 1, 0, 0, 1]))
    assert bound.matrix_flops == {"fp32": 2 * 4 * 16 * 4}
    assert bound.dram_read_bytes == (4 * 16 + 16 * 4) * 4 + 8 * 8


def test_halves_of_a_gate_lie_side_by_side() -> None:
    bound = _bound(lambda x: F.glu(x)[:, :4], _meta(16, 32))
    assert bound.dram_read_bytes == 2 * 16 * 4 * 4
    whole = _bound(lambda x: F.glu(x), _meta(16, 32))
    assert whole.dram_read_bytes == 16 * 32 * 4
