"""Whose kernels ran."""

from __future__ import annotations

from typing import Any

import pytest

from solbench.judge.guard import kernel_authorship, library_flags, read_kernel_table
from solbench.spec import Definition

from .conftest import DEFINITION

LOG = """started
kernels of one call, largest gap 1.50 us:
 75.0%      30.00 us    2 x  sm90_xmma_gemm_f32f32_tn_n
 20.0%       8.00 us    1 x  my_kernel(float const*, float*)
  5.0%       2.00 us    1 x  Memset (Device)
"""


def definition(library_calls: bool) -> Definition:
    own: dict[str, Any] = {
        "tier": "l1",
        "direction": "forward",
        "policy": {"library_calls": library_calls},
    }
    return Definition.model_validate({**DEFINITION, "solbench": own})


def test_time_is_divided_by_name_and_copies_are_nobodys() -> None:
    found = kernel_authorship(
        [
            ("void at::native::fill<float>", 1.0),
            ("mine", 2.0),
            ("Memcpy DtoD", 9.0),
            ("nvjet_x", 1.0),
        ]
    )
    assert (found.own_ms, found.library_ms, found.copies_ms) == (2.0, 2.0, 9.0)
    assert found.library_share == pytest.approx(0.5)
    assert set(found.library_kernels) == {"void at::native::fill<float>", "nvjet_x"}


def test_no_kernel_at_all_is_no_library() -> None:
    assert kernel_authorship([]).library_share == 0.0


def test_the_table_in_a_log_is_read_back() -> None:
    table = read_kernel_table(LOG)
    assert table.largest_gap_ms == pytest.approx(1.5e-3)
    first = table.kernels[0]
    assert (first.name, first.launches) == ("sm90_xmma_gemm_f32f32_tn_n", 2)
    assert sum(each.total_ms for each in table.kernels) == pytest.approx(0.04)
    assert read_kernel_table("nothing").kernels == ()


def test_library_kernels_are_flagged_only_where_they_are_forbidden() -> None:
    (flag,) = library_flags(definition(False), LOG)
    assert flag.id == "library_kernels"
    assert flag.evidence.startswith("79% of kernel time")
    assert library_flags(definition(True), LOG) == ()
    assert library_flags(Definition.model_validate(DEFINITION), LOG) == ()
