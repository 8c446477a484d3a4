"""Calls on lists of tensors, products of groups of rows, triangles, packed codes, masks through views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from solbench.bound import Demand, analyse, capture, function_program
from solbench.errors import CaptureError

DemandOf = Callable[..., Demand]


def m(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def test_an_optimiser_on_lists_reads_four_tensors_and_writes_three(demand_of: DemandOf) -> None:
    def adam(p: Any, g: Any, mean: Any, square: Any) -> Any:
        torch._foreach_lerp_(mean, g, 0.1)
        torch._foreach_mul_(square, 0.99)
        torch._foreach_addcmul_(square, g, g, 0.01)
        root = torch._foreach_sqrt(square)
        torch._foreach_add_(root, 1e-8)
        torch._foreach_addcdiv_(p, mean, root, -1e-3)
        return p

    found = demand_of(adam, *([m(8), m(6)] for _ in range(4)))
    assert (found.dram_read_bytes, found.dram_write_bytes) == (4 * 14 * 4, 3 * 14 * 4)


def test_a_norm_of_a_list_and_a_factor_for_each(demand_of: DemandOf) -> None:
    def clip(gradients: Any) -> Any:
        whole = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        return torch._foreach_mul(gradients, (1 / whole).clamp(max=1.0))

    found = demand_of(clip, [m(8), m(6)])
    assert (found.dram_read_bytes, found.dram_write_bytes) == (14 * 4, 14 * 4)


def test_a_function_that_only_writes_into_its_inputs_has_a_bound(demand_of: DemandOf) -> None:
    def average(a: Any, b: Any) -> None:
        a.mul_(0.9).add_(b, alpha=0.1)

    found = demand_of(average, m(64), m(64))
    assert (found.dram_read_bytes, found.dram_write_bytes) == (2 * 256, 256)


@pytest.mark.parametrize(("last", "rows"), [(16, 16), (12, 12)])
def test_a_grouped_product_reads_the_matrices_of_groups_with_rows(
    last: int, rows: int, demand_of: DemandOf
) -> None:
    # groups of 4, 0, 6 and last - 10 rows: three of four matrices; rows after the last group are no result
    x, w = m(16, 32, dtype=torch.bfloat16), m(4, 32, 64, dtype=torch.bfloat16)
    ends = torch.tensor([4, 4, 10, last], dtype=torch.int32)
    found = demand_of(lambda x, w, ends: torch._grouped_mm(x, w, offs=ends), x, w, ends)
    assert found.matrix_flops == {"bf16": 2 * rows * 32 * 64}
    assert found.dram_read_bytes == rows * 32 * 2 + 3 * 32 * 64 * 2 + 16


@pytest.mark.parametrize(
    ("function", "elements"),
    [
        (lambda a: torch.linalg.cholesky(a), 36),  # 8·9/2
        (lambda a: torch.linalg.eigvalsh(a, UPLO="U"), 36),
        (lambda a: torch.linalg.solve_triangular(a, torch.ones(8, 1), upper=False), 36),
        # a diagonal of ones is not read
        (lambda a: torch.linalg.solve_triangular(a, torch.ones(8, 1), upper=True, unitriangular=True), 28),
        (lambda a: torch.linalg.inv(a), 64),
    ],
)  # fmt: skip
def test_one_triangle_is_read(function: Any, elements: int, demand_of: DemandOf) -> None:
    assert demand_of(function, m(8, 8)).dram_read_bytes == elements * 4


def test_a_triangular_factor_multiplies_as_one(demand_of: DemandOf) -> None:
    found = demand_of(lambda a, b: torch.linalg.cholesky(a) @ b, m(8, 8), m(8, 3))
    assert found.matrix_flops == {"fp32": 2 * 36 * 3}


def test_packed_codes_that_stand_for_zero_are_multiplied(demand_of: DemandOf) -> None:
    # a third of the codes is that of zero: chance, which a kernel for such weights cannot know
    generator = torch.Generator().manual_seed(0)
    codes = torch.randint(0, 3, (16, 16), generator=generator).to(torch.uint8)
    table = torch.tensor([0.0, 1.5, -1.5])

    def run(x: Any, codes: Any) -> Any:
        return x @ table[codes.long()].to(x.dtype)

    found = demand_of(run, m(8, 16, dtype=torch.bfloat16), codes)
    assert found.matrix_flops == {"bf16": 2 * 8 * 16 * 16}


def test_a_mask_is_read_where_it_is_false_also_through_a_view(demand_of: DemandOf) -> None:
    mask = torch.tensor([True, False, False, False] * 4)
    found = demand_of(lambda mask: mask.view(4, 4).any(-1), mask)
    assert found.dram_read_bytes == 16


@pytest.mark.parametrize(
    ("function", "layout"),
    [
        (lambda x: torch.nested.nested_tensor([x, x]).sin(), "nested"),
        (lambda x: x.to_sparse(), "sparse"),
        (lambda x: torch.sparse.mm(x.to_sparse_csr(), x.T), "sparse"),
    ],
)
def test_other_layouts_are_errors_that_say_what_to_write(function: Any, layout: str) -> None:
    with pytest.raises(CaptureError, match=f"{layout} tensors are not followed: in the reference"):
        capture(function_program(function, (torch.rand(4, 8),)))


def test_a_call_that_is_scaled_by_element_is_analysed_like_a_loop() -> None:
    def lists(xs: Any, ys: Any) -> Any:
        return torch._foreach_add(xs, ys, alpha=2)

    def loop(xs: Any, ys: Any) -> Any:
        return [x + 2 * y for x, y in zip(xs, ys, strict=True)]

    inputs = ([m(8), m(6)], [m(8), m(6)])
    found = [analyse(*capture(function_program(f, inputs))) for f in (lists, loop)]
    assert found[0].dram_read_bytes == found[1].dram_read_bytes == 2 * 14 * 4
