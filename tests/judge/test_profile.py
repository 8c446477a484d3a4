"""A call under the worker's own profiler, behind real walls."""

from __future__ import annotations

from pathlib import Path

import pytest

from solbench.judge import Budget, LocalJudge, StopRule
from solbench.judge.guard import read_operation_table
from solbench.spec import Trace, load_problem, load_solution

pytestmark = pytest.mark.xdist_group("judge")

EXAMPLE = Path(__file__).parents[2] / "examples/rmsnorm"
BRIEF = StopRule(minimum=6, least=4, seconds=0.05, relative=0.5)
QUICK = {"reward": Budget(BRIEF, BRIEF)}


@pytest.fixture(scope="module")
def profiled() -> tuple[Trace, ...]:
    problem, solution = load_problem(EXAMPLE), load_solution(EXAMPLE / "solution_fast.json")
    uuids = [workload.uuid for workload in problem.workloads[:2]]
    with LocalJudge("cpu", budgets=QUICK) as judge:
        return judge.evaluate(problem, solution, workloads=uuids, profile=True).traces


def test_every_workload_has_its_own_operations(profiled: tuple[Trace, ...]) -> None:
    for trace in profiled:
        assert trace.evaluation.status == "PASSED"
        assert trace.solbench is not None
        assert trace.solbench.advice is not None
        table = read_operation_table(trace.solbench.advice["log"])
        assert table.call_ms is not None
        assert any(each.name == "aten::mul" for each in table.operations)
        assert sum(each.own_ms for each in table.operations) <= table.call_ms


def test_a_profile_of_a_cpu_says_nothing_about_the_time(profiled: tuple[Trace, ...]) -> None:
    for trace in profiled:
        assert trace.solbench is not None
        assert "claims_disagree" not in {flag.id for flag in trace.solbench.flags}
        assert trace.solbench.advice is not None
        assert (trace.solbench.advice["kernels"], trace.solbench.advice["busy_ms"]) == (0, 0.0)
