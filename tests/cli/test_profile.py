"""``solbench profile``."""

import json
from pathlib import Path
from typing import Any

import pytest

from solbench.spec import Trace, trace_line


@pytest.fixture
def traces(problem_folder: Path, make_trace: Any) -> Path:
    from .conftest import UUIDS

    trace: Trace = make_trace(definition="double", axes={"n": 256})
    workload = trace.workload.model_copy(update={"uuid": UUIDS[0]})
    file = problem_folder / "run.jsonl"
    file.write_text(trace_line(trace.model_copy(update={"workload": workload})) + "\n")
    return file


def test_traces_are_explained_without_another_evaluation(
    run: Any, problem_folder: Path, traces: Path
) -> None:
    result = run("profile", problem_folder, "--traces", traces, "--json")
    assert result.exit_code == 0, result.stderr
    (record,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert record["status"] == "PASSED"
    assert record["times_sol"] == pytest.approx(5.0)
    assert "T_SOL" in run("profile", problem_folder, "--traces", traces).stdout


def test_traces_of_another_problem_are_refused(
    run: Any, problem_folder: Path, tmp_path: Path, make_trace: Any
) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(trace_line(make_trace()) + "\n")
    result = run("profile", problem_folder, "--traces", file)
    assert result.exit_code == 2
    assert "holds no trace" in " ".join(result.stderr.split())


def test_what_was_evaluated_is_kept_when_it_is_stopped(
    run: Any, problem_folder: Path, make_trace: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(*_: Any, on_trace: Any, **__: Any) -> None:
        on_trace(make_trace(definition="double"))
        raise KeyboardInterrupt

    monkeypatch.setattr("solbench.judge.evaluate", stopped)
    out = tmp_path / "kept.jsonl"
    assert run("profile", problem_folder, "--out", out).exit_code == 130
    assert len(out.read_text().splitlines()) == 1


def test_a_page_that_cannot_be_written_is_told_before_anything_is_evaluated(
    run: Any, problem_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solbench.judge.evaluate", lambda *_, **__: pytest.fail("evaluated"))
    for page, what in (("/nowhere/p.html", "there is no folder '/nowhere'"), ("/", "is a folder")):
        result = run("profile", problem_folder, "--html", page)
        assert result.exit_code == 2
        assert f"--html: {what}" in " ".join(result.stderr.split())
