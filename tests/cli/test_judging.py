"""``admit``, ``compare`` and ``replay``: what they print and return. The judge itself is a stand-in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from solbench.gate import OutputError
from solbench.judge import Admission, Comparison, Finding, Interval, Replay, Side
from solbench.spec import Trace, load_problem, trace_line


class StandIn:
    """Answers every workload with what it was given."""

    def __init__(self) -> None:
        self.devices: list[str] = []
        self.admission: Callable[[str], Admission] = lambda uuid: Admission(uuid, ())
        self.comparison: Callable[[str], Comparison]
        self.replayed: Callable[[Trace], Replay]
        self.mode = ""

    def __call__(self, device: str) -> Self:
        self.devices.append(device)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        """Nothing to end."""

    def admit(self, problem: Any, *, workloads: list[str], on_admission: Any) -> Any:
        found = tuple(self.admission(uuid) for uuid in workloads)
        for each in found:
            on_admission(each)
        return found

    def compare(self, problem: Any, first: Any, second: Any, **options: Any) -> Any:
        self.mode = options["mode"]
        found = tuple(self.comparison(uuid) for uuid in options["workloads"])
        for each in found:
            options["on_comparison"](each)
        return found

    def replay(self, trace: Trace, problem: Any, solution: Any) -> Replay:
        return self.replayed(trace)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr("solbench.judge.Judge", stand_in)
    return stand_in


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize(("outcome", "code"), [("ok", 0), ("open", 0), ("failed", 1)])
def test_admit_is_a_no_if_a_check_failed(
    run: Any, judge: StandIn, problem_folder: Path, outcome: Any, code: int
) -> None:
    judge.admission = lambda uuid: Admission(
        uuid,
        (Finding("null answers", outcome, "y: zeros passes"),),
        {"y": OutputError(1e-3, 2e-3, 1.0, 3.0)},
    )
    result = run("admit", problem_folder)
    assert result.exit_code == code
    assert "y: zeros passes" in result.stdout
    first, _ = lines(run("admit", problem_folder, "--json", "--device", "cuda:1").stdout)
    assert judge.devices == ["cpu", "cuda:1"]
    assert first["passed"] is (code == 0)
    assert first["findings"] == [
        {"check": "null answers", "outcome": outcome, "detail": "y: zeros passes"}
    ]
    assert first["reference_error"]["y"]["largest"] == 2e-3


def test_compare_tells_which_is_faster_and_by_how_much(
    run: Any, judge: StandIn, problem_folder: Path
) -> None:
    sides = (
        Side("PASSED", timing=Interval(1.0, 0.9, 1.1)),
        Side("PASSED", timing=Interval(1.5, 1.4, 1.6)),
    )
    judge.comparison = lambda uuid: Comparison(
        uuid, "first", *sides, Interval(1.5, 1.4, 1.6), 30, True
    )
    solution = problem_folder / "solution.json"
    result = run("compare", problem_folder, solution, solution, "--mode", "rank")
    assert result.exit_code == 0, result.stderr
    assert judge.mode == "rank"
    assert "1.40 to 1.60" in result.stdout
    first, _ = lines(run("compare", problem_folder, solution, solution, "--json").stdout)
    assert (first["outcome"], first["ratio"]["median"]) == ("first", 1.5)


def test_compare_is_a_no_where_one_fails(run: Any, judge: StandIn, problem_folder: Path) -> None:
    judge.comparison = lambda uuid: Comparison(
        uuid, "not_compared", Side("TIMEOUT", "no answer"), Side("PASSED")
    )
    solution = problem_folder / "solution.json"
    result = run("compare", problem_folder, solution, solution)
    assert result.exit_code == 1
    assert "TIMEOUT" in result.stdout


@pytest.mark.parametrize(("differences", "code"), [((), 0), (("the status was A and is B",), 1)])
def test_replay_is_a_no_if_a_verdict_differs(
    run: Any,
    judge: StandIn,
    problem_folder: Path,
    make_trace: Callable[..., Trace],
    tmp_path: Path,
    differences: tuple[str, ...],
    code: int,
) -> None:
    uuid = load_problem(problem_folder).workloads[0].uuid
    file = tmp_path / "traces.jsonl"
    file.write_text(trace_line(make_trace(uuid, definition="double")) + "\n")
    judge.replayed = lambda trace: Replay(trace, trace, differences)
    arguments = ["replay", file, "--problem", problem_folder]
    result = run(*arguments)
    assert result.exit_code == code, result.stderr
    (line,) = lines(run(*arguments, "--json").stdout)
    assert line["same"] is (code == 0)
    assert line["differences"] == list(differences)


def test_replay_of_traces_of_two_devices_is_refused(
    run: Any,
    judge: StandIn,
    problem_folder: Path,
    make_trace: Callable[..., Trace],
    tmp_path: Path,
) -> None:
    traces = []
    for device in ("cpu", "cuda:0"):
        trace = make_trace(definition="double")
        assert trace.solbench is not None
        record = trace.solbench.model_copy(update={"device": device})
        traces.append(trace.model_copy(update={"solbench": record}))
    file = tmp_path / "traces.jsonl"
    file.write_text("".join(trace_line(trace) + "\n" for trace in traces))
    result = run("replay", file, "--problem", problem_folder)
    assert result.exit_code == 2
    assert "several devices" in result.stderr
    assert judge.devices == []


def test_replay_looks_for_a_bundled_problem_of_that_name(
    run: Any, judge: StandIn, make_trace: Callable[..., Trace], tmp_path: Path
) -> None:
    file = tmp_path / "traces.jsonl"
    file.write_text(trace_line(make_trace(definition="rmsnorm_h128")) + "\n")
    result = run("replay", file)
    assert result.exit_code == 2
    assert "rmsnorm_h128 has no workload" in " ".join(result.stderr.split())
