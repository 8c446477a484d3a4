"""Bounds and their reasons on a terminal of 80 columns, and as a picture."""

import dataclasses

import pytest
from rich.console import Console, RenderableType

from solbench.bound import PlainCount
from solbench.bound._result import Bound, Demand, NodeCost, Removed, Term, Traffic
from solbench.errors import InputError
from solbench.report import bound_report, bound_svg, explain_report, plain_count_table

DEMAND = Demand(
    matrix_flops={"bf16": 2 * 128**3},
    vector_ops=16384,
    dram_read_bytes=65536,
    dram_write_bytes=32768,
    intermediate_bytes=0,
    launches=1,
    nodes=(
        NodeCost("mm_1", "aten.mm.default", "mk,kn->mn", "line 4: y = x @ w", 4194304, 0, "bf16"),
    ),
    traffic=(
        Traffic("x", "read", 32768, 65536, "only the first half is used"),
        Traffic("w", "read", 32768, 32768),
        Traffic("y", "write", 32768, 32768),
    ),
    removed=(Removed("dead_input", "never read", dram_bytes=4096),),
    unknown_ops=(),
    assumptions=("classical arithmetic",),
    precision="declared",
    capture="fake",
    verified=True,
)
BOUND = Bound(
    problem="gemm",
    workload="11111111-aaaa-4aaa-8aaa-000000000001",
    hardware="h200",
    clock_mhz=1980.0,
    t_sol_ms=0.02048,
    t_attainable_ms=0.025,
    t_floor_ms=0.01,
    binding="dram",
    matrix_flops={"bf16": 4194304},
    dram_read_bytes=65536,
    dram_write_bytes=32768,
    complete=True,
    unknown_ops=(),
    capture="fake",
    verified=True,
    precision="declared",
    assumptions=("classical arithmetic",),
    seconds=0.1,
    terms=(
        Term("dram", 98304, "B", 4.8e12, 0.02048, "t_sol"),
        Term("matrix.bf16", 4194304, "FLOP", 1e12, 0.004194304, "t_sol"),
        Term("launch", 1, "launch", 1e6, 0.001, "t_attainable"),
    ),
    demand=DEMAND,
)
FAILED = dataclasses.replace(
    BOUND,
    t_sol_ms=None,
    binding=None,
    complete=False,
    error="line 7: nonzero needs values",
    terms=(),
    demand=None,
)
UNKNOWN = dataclasses.replace(
    BOUND, t_sol_ms=None, complete=False, binding=None, unknown_ops=("aten.foo.default",)
)


def shown(renderable: RenderableType) -> str:
    console = Console(width=80, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    text = capture.get()
    assert max(map(len, text.splitlines())) <= 80
    return text


def test_a_bound_is_a_line_with_its_time_work_and_traffic() -> None:
    text = shown(bound_report([BOUND]))
    for part in ("gemm", "11111111", "20.5 µs", "dram", "4.19 M bf16", "64.0 KiB", "32.0 KiB"):
        assert part in text
    assert "1 of 1 bounds complete" in text
    assert "assumes: classical arithmetic" in text


def test_a_failed_or_incomplete_bound_says_why() -> None:
    text = shown(bound_report([BOUND, FAILED, UNKNOWN]))
    assert "1 of 3 bounds complete" in text
    assert "line 7: nonzero needs values" in text
    assert "no rule for aten.foo.default" in text


def test_nothing_left_to_derive_is_said() -> None:
    assert "nothing to derive" in shown(bound_report([]))


def test_long_problem_paths_fit() -> None:
    path = "some/very/long/folder/" * 6 + "module.py"
    assert "20.5 µs" in shown(bound_report([dataclasses.replace(BOUND, problem=path)]))


def test_an_explanation_has_terms_operations_traffic_and_assumptions() -> None:
    text = shown(explain_report(BOUND))
    for part in ("T_SOL", "dram binds", "4.80 TB/s", "mk,kn->mn", "y = x @ w", "graph verified"):
        assert part in text, part
    assert "only the first half is used" in " ".join(text.split())
    assert "dead_input" not in text
    assert "1 things left out" in text


def test_why_not_lists_what_was_left_out() -> None:
    text = shown(explain_report(BOUND, why_not=True))
    assert "dead_input" in text
    assert "never read" in text
    assert "4.00 KiB" in text


def test_an_explanation_of_a_failure_is_its_reason() -> None:
    assert "no bound: line 7: nonzero needs values" in shown(explain_report(FAILED))


def test_of_many_operations_the_largest_are_shown() -> None:
    node = DEMAND.nodes[0]
    small = [dataclasses.replace(node, matrix_flops=1, location=f"line {i}") for i in range(100)]
    demand = dataclasses.replace(DEMAND, nodes=(*small, node))
    text = shown(explain_report(dataclasses.replace(BOUND, demand=demand)))
    assert "the 40 largest of 101 operations" in text
    assert "4.19 M bf16" in text


def test_the_picture_names_every_term_and_incomplete_bounds_have_none() -> None:
    svg = bound_svg(BOUND)
    for term in ("dram", "matrix.bf16", "launch", "estimate, enters T_attainable only"):
        assert term in svg
    with pytest.raises(InputError, match="incomplete"):
        bound_svg(UNKNOWN)


def test_a_bound_without_matrix_work_is_drawn_without_a_roofline() -> None:
    memory_only = dataclasses.replace(BOUND, matrix_flops={}, terms=BOUND.terms[:1])
    assert "FLOP per demanded byte" not in bound_svg(memory_only)


def test_the_plain_count_stands_beside_the_demanded_work() -> None:
    # 64 + 32 KiB are demanded; counting every tensor whole adds the unused half of x.
    text = shown(plain_count_table(BOUND, PlainCount(matrix_flops=8388608, dram_bytes=131072)))
    for part in ("8.39 MFLOP", "4.19 MFLOP", "128 KiB", "96.0 KiB"):
        assert part in text
