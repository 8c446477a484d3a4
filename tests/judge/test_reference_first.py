"""Where programs do not take turns, references are timed before there is a candidate."""

from __future__ import annotations

from typing import Any

import pytest

from solbench.judge import LocalJudge
from solbench.judge._runner import Runner
from solbench.spec import Solution, SolutionSpec, SourceFile


def solution(source: str) -> Solution:
    return Solution(
        name="s",
        definition="scale",
        author="a",
        spec=SolutionSpec(
            languages=("pytorch",), target_hardware=("CPU",), entry_point="main.py::run"
        ),
        sources=(SourceFile(path="main.py", content=source),),
    )


@pytest.fixture
def order(monkeypatch) -> list[str]:
    """Authors of the programs whose workers are made ready or ended, in order."""
    events: list[str] = []
    ensure, stop = Runner.ensure, Runner.stop

    def noting_ensure(self: Any, wanted: Any) -> None:
        had = self.worker is not None
        ensure(self, wanted)
        if not had and self.worker is not None:
            events.append(f"start {self.is_reference}")

    def noting_stop(self: Any) -> None:
        if self.worker is not None:
            events.append(f"end {self.is_reference}")
        stop(self)

    monkeypatch.setattr(Runner, "ensure", noting_ensure)
    monkeypatch.setattr(Runner, "stop", noting_stop)
    monkeypatch.setattr(
        Runner,
        "is_reference",
        property(lambda self: "reference" if "reference_program" in _files(self) else "candidate"),
        raising=False,
    )
    return events


def _files(runner: Any) -> str:
    from pathlib import Path

    return " ".join(path.name for path in Path(runner._plan.artifact.folder).iterdir())


def test_the_reference_is_timed_and_gone_before_the_candidate_starts(order, scale_problem) -> None:
    problem = scale_problem(workloads=2)
    with LocalJudge("cpu") as judge:
        judge.device.interleaves = False
        judge.device.reuses_memory = True
        order.clear()  # the floor's own
        result = judge.evaluate(
            problem, solution("def run(x, scale, y):\n    y.copy_(x * scale)\n")
        )
        assert [trace.evaluation.status for trace in result.traces] == ["PASSED"] * 2
        started = [event for event in order if "start" in event or "end reference" in event]
        assert started[-3:] == ["start reference", "end reference", "start candidate"]
        times = [trace.evaluation.performance.reference_latency_ms for trace in result.traces]
        assert all(time > 0 for time in times)
        order.clear()
        judge.evaluate(problem, solution("def run(x, scale, y):\n    y.copy_(scale * x)\n"))
        assert "start reference" not in order  # its times are known
