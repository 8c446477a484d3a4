"""What a plain count has and the bound has not: every FLOP and byte is listed with its reason."""

from __future__ import annotations

from typing import Any

import torch

from solbench.bound import plain_count


def meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.bfloat16, device="meta")


def test_a_product_that_is_computed_twice_is_counted_once_and_listed(demand_of: Any) -> None:
    def twice(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu(a @ b) + torch.tanh(a @ b)

    found = demand_of(twice, meta(4, 8), meta(8, 2))
    one = 2 * 4 * 8 * 2
    assert sum(found.matrix_flops.values()) == one
    (row,) = [r for r in found.removed if r.matrix_flops]
    assert row.matrix_flops == one
    assert row.reason == "computed before, counted once"
    assert "aten.mm.default" in row.what
    assert plain_count(found).matrix_flops == 2 * one


def test_kept_and_left_out_make_the_plain_count(demand_of: Any) -> None:
    def half(a: torch.Tensor, b: torch.Tensor, unused: torch.Tensor) -> torch.Tensor:
        return (a @ b)[:2]

    found = demand_of(half, meta(4, 8), meta(8, 2), meta(5))
    plain = plain_count(found)
    assert plain.matrix_flops == 2 * 4 * 8 * 2
    # a 4·8, b 8·2, unused 5, output 2·2, of two bytes each
    assert plain.dram_bytes == 2 * (32 + 16 + 5 + 4)
    moved = found.dram_read_bytes + found.dram_write_bytes
    assert moved + sum(r.dram_bytes for r in found.removed) == plain.dram_bytes
