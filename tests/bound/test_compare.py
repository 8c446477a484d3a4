"""Differences of two bound records, and where a figure is missing."""

from __future__ import annotations

from typing import Any

from solbench.bound import Difference, compare_records

BASE: dict[str, Any] = {
    "t_sol_ms": 1.0, "t_floor_ms": 0.5, "t_attainable_ms": 2.0, "binding": "dram", "hardware": "h200",
    "clock_mhz": 1980.0, "capture": "fake", "precision": "declared", "complete": True,
    "dram_read_bytes": 100, "dram_write_bytes": 50, "matrix_flops": {"bf16": 10},
}  # fmt: skip


def test_equal_records_have_no_differences() -> None:
    assert compare_records(BASE, dict(BASE)) == ()


def test_figures_differ_with_their_ratio() -> None:
    other = {**BASE, "t_sol_ms": 2.0, "binding": "matrix", "complete": False}
    rows = compare_records(BASE, other)
    assert rows == (
        Difference("T_SOL", "ms", 1.0, 2.0),
        Difference("binds", "", "dram", "matrix"),
        Difference("complete", "", "yes", "no"),
    )
    assert [row.ratio for row in rows] == [2.0, None, None]


def test_a_class_that_only_one_has_is_a_difference() -> None:
    (first, second) = compare_records(BASE, {**BASE, "matrix_flops": {"fp8": 10}})
    assert (first.what, first.first, first.second) == ("matrix bf16", 10, None)
    assert (second.what, second.first, second.second) == ("matrix fp8", None, 10)
    assert first.ratio is None


def test_terms_are_compared_where_both_have_them_and_equal_names_add() -> None:
    own = {**BASE, "nodes": [{"op": "mm", "location": "line 1", "matrix_flops": 5}] * 2}
    other = {**BASE, "nodes": [{"op": "mm", "location": "line 1", "matrix_flops": 5}]}
    assert compare_records(own, BASE) == ()
    (row,) = compare_records(own, other)
    assert (row.what, row.first, row.second) == ("node mm line 1", 10.0, 5.0)
