"""A compiler that runs while the problem is looked at, as on a GPU; here the device only says that it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from solbench.jail import start_zygote
from solbench.judge import Budget, LocalJudge, StopRule
from solbench.spec import Problem, Solution, load_problem, load_solution

pytestmark = pytest.mark.xdist_group("judge")

EXAMPLE = Path(__file__).parents[2] / "examples/rmsnorm"
BRIEF = StopRule(minimum=6, least=4, seconds=0.05, relative=0.5)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return load_problem(EXAMPLE)


@pytest.fixture(scope="module")
def judge() -> Iterator[LocalJudge]:
    with LocalJudge("cpu", budgets={"reward": Budget(BRIEF, BRIEF)}, zygote=start_zygote()) as made:
        made.device.shares_cores = False
        yield made


def solution(old: str = "", new: str = "") -> Solution:
    packed = load_solution(EXAMPLE / "solution_cpp.json")
    sources = tuple(
        source.model_copy(
            update={"content": source.content.replace(old, new) if old else source.content}
        )
        for source in packed.sources
    )
    return packed.model_copy(update={"sources": sources})


def test_what_builds_is_judged(judge: LocalJudge, problem: Problem) -> None:
    (trace,) = judge.evaluate(problem, solution(), workloads=[problem.workloads[0].uuid]).traces
    assert trace.evaluation.status == "PASSED"


def test_what_does_not_build_says_why_with_its_bound(judge: LocalJudge, problem: Problem) -> None:
    broken = solution("for (", "int unfinished = ; for (")
    (trace,) = judge.evaluate(problem, broken, workloads=[problem.workloads[0].uuid]).traces
    assert trace.evaluation.status == "COMPILE_ERROR"
    assert "expected primary-expression" in trace.evaluation.log
    assert trace.solbench is not None
    assert trace.solbench.t_sol_ms is not None
