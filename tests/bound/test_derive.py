"""From a program to a bound: the record, its errors, its options."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from solbench import suite
from solbench.bound import (
    Bound,
    Program,
    analyse,
    capture,
    derive_bound,
    formulas,
    function_program,
    plain_count,
    verify_graph,
)
from solbench.bound.graph import Graph, Node
from solbench.errors import UnknownHardware, VerificationError


def t(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def product(a: Any, b: Any) -> Any:
    return a @ b


def bound_of(function: Any, *inputs: Any, **options: Any) -> Bound:
    (bound,) = derive_bound(function_program(function, inputs), **options)
    return bound


def test_a_bound_names_its_program_device_and_clock() -> None:
    bound = bound_of(product, t(64, 64), t(64, 64), hardware="h200")
    assert (bound.problem, bound.hardware, bound.clock_mhz) == ("product", "h200", 1980)
    assert bound.complete
    assert bound.error is None
    # 3 · 64 · 64 · 4 bytes at 4.8 TB/s; 2 · 64³ FLOPs take less
    assert bound.binding == "dram"
    assert bound.t_sol_ms == pytest.approx(3 * 64 * 64 * 4 / 4.8e12 * 1e3)


def test_the_three_times_are_in_order() -> None:
    bound = bound_of(product, t(64, 64), t(64, 64), hardware="b200")
    assert bound.t_floor_ms is not None
    assert bound.t_sol_ms is not None
    assert bound.t_attainable_ms is not None
    assert 0 < bound.t_floor_ms <= bound.t_sol_ms <= bound.t_attainable_ms


def test_a_clock_can_be_given() -> None:
    big = (t(4096, 4096, dtype=torch.bfloat16),) * 2
    fast = bound_of(product, *big, hardware="h200")
    slow = bound_of(product, *big, hardware="h200", clock_mhz=990)
    assert fast.binding == slow.binding == "matrix"
    assert fast.t_sol_ms is not None
    assert slow.t_sol_ms == pytest.approx(2 * fast.t_sol_ms)


def test_an_incomplete_bound_has_no_times() -> None:
    bound = bound_of(lambda x: x.put(torch.tensor([0]), x[0, :1]), t(4, 4))
    assert not bound.complete
    assert bound.t_sol_ms is bound.t_floor_ms is bound.t_attainable_ms is bound.binding is None
    assert bound.unknown_ops == ("aten.put.default",)


def test_a_program_that_fails_is_a_bound_with_its_error() -> None:
    def wrong(a: Any, b: Any) -> Any:
        return a @ b.reshape(3, 5)

    bound = bound_of(wrong, t(4, 4), t(4, 4))
    assert not bound.complete
    assert bound.t_sol_ms is None
    assert bound.error is not None
    assert "reshape" in bound.error


def test_an_unknown_device_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UnknownHardware, match="h200"):
        bound_of(product, t(4, 4), t(4, 4), hardware="abacus")


def test_verification_replays_the_program() -> None:
    bound = bound_of(product, t(4, 8), t(8, 4), verify=True)
    assert bound.verified
    assert bound.verified_nodes == bound.total_nodes > 0
    assert bound.unverified == ()


def test_verification_refuses_a_graph_that_is_not_the_program() -> None:
    program = function_program(lambda a, b: a + b, (t(4), t(4)))
    graph, _ = capture(program)
    node = graph.nodes[0]
    other = Node("aten.sub.Tensor", node.args, node.outputs, node.location)
    wrong = Graph(graph.values, [other], graph.inputs, graph.outputs)
    with pytest.raises(VerificationError, match="output"):
        verify_graph(program, wrong)


def test_of_a_program_that_draws_numbers_only_the_calls_are_verified() -> None:
    program = function_program(lambda a: a + torch.rand(4), (t(4),))
    graph, _ = capture(program)
    found = verify_graph(program, graph)
    assert found.verified
    assert found.open_points == ("program not replayed: it draws random numbers",)


def sized(size: int) -> tuple[Program, Graph]:
    program = function_program(lambda a, b: a + b, (t(size), t(size)))
    return program, capture(program)[0]


def test_a_program_too_large_to_be_run_is_replayed_at_smaller_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("solbench.bound._verify.LIMIT_BYTES", 3 * 8 * 100)
    too_large = sized(101)
    assert verify_graph(*too_large).open_points != ()
    assert verify_graph(*too_large, lambda: [sized(102), sized(100)]).open_points == ()


def test_a_smaller_program_with_other_calls_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solbench.bound._verify.LIMIT_BYTES", 3 * 8 * 100)
    other = function_program(lambda a, b: a - b, (t(4), t(4)))
    found = verify_graph(*sized(101), lambda: [(other, capture(other)[0])])
    assert found.open_points != ()


def test_a_smaller_graph_that_is_not_its_program_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("solbench.bound._verify.LIMIT_BYTES", 3 * 8 * 100)
    _, graph = sized(4)
    other = function_program(lambda a, b: a + b + b, (t(4), t(4)))
    with pytest.raises(VerificationError, match="output"):
        verify_graph(*sized(101), lambda: [(other, graph)])


def test_a_large_problem_of_the_suite_is_replayed() -> None:
    problem = suite.load("norm_linear_backward_bf16_h5120_o7680")
    (bound,) = derive_bound(problem, "h200", workload=problem.workloads[0].uuid, verify=True)
    assert bound.verified
    assert bound.unverified == ()


def test_a_table_of_zeros_without_a_dtype_is_replayed_in_float64() -> None:
    def program(x: Any, i: Any) -> Any:
        return torch.zeros(4, 3).index_add(0, i, x)

    bound = bound_of(program, t(2, 3), torch.tensor([1, 3]), verify=True)
    assert bound.error is None
    assert bound.verified


def test_formulas_state_every_term_and_figure() -> None:
    bound = bound_of(product, t(64, 64), t(64, 64))
    lines = formulas(bound)
    assert len(lines) == len(bound.terms) + 3
    assert lines[0].startswith("dram: 49152 B / 4.8e+12 B/s")


def test_the_plain_count_removes_nothing() -> None:
    graph, rung = capture(function_program(lambda a, b: (a @ b)[:2], (t(4, 8), t(8, 16))))
    demand = analyse(graph, rung)
    plain = plain_count(demand)
    assert demand.matrix_flops == {"fp32": 2 * 2 * 8 * 16}
    assert plain.matrix_flops == 2 * 4 * 8 * 16
    assert plain.dram_bytes == (4 * 8 + 8 * 16 + 2 * 16) * 4


def test_what_was_left_out_says_why() -> None:
    graph, rung = capture(function_program(lambda a, b, c: (a @ b)[:2], (t(4, 8), t(8, 16), t(9))))
    reasons = {r.what: r for r in analyse(graph, rung).removed}
    assert reasons["read of c"].dram_bytes == 36
    assert any("mm" in what and r.matrix_flops == 512 for what, r in reasons.items())


def test_a_node_row_has_its_einsum_and_line() -> None:
    graph, rung = capture(function_program(product, (t(4, 8), t(8, 16))))
    (row,) = (n for n in analyse(graph, rung).nodes if n.matrix_flops)
    assert row.einsum == "ik,kj->ij"
    assert "a @ b" in row.location
    assert row.precision == "fp32"
