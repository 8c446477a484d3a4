"""``solbench eval``: what it prints, writes, resumes and returns. The judge itself is a stand-in."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solbench.judge import EvaluationResult, Phase
from solbench.score import problem_score
from solbench.spec import (
    Trace,
    definition_digest,
    load_problem,
    load_solution,
    read_traces,
    solution_digest,
    workload_digest,
)


class StandIn:
    """Answers every workload with a fixed status and remembers what it was asked."""

    def __init__(self, make_trace: Callable[..., Trace]) -> None:
        self.make_trace = make_trace
        self.status: dict[str, str] = {}
        self.asked: list[str] = []
        self.options: dict[str, Any] = {}
        self.solution: Any = None
        self.phases: tuple[Phase, ...] = ()

    def __call__(self, problem: Any, solution: Any, **options: Any) -> EvaluationResult:
        self.solution, self.options = solution, options
        for uuid in options["workloads"]:
            self.asked.append(uuid)
            workload = problem.workload(uuid)
            trace = self.make_trace(
                uuid,
                status=self.status.get(uuid, "PASSED"),
                definition=problem.name,
                solution=solution.name,
            )
            digests = {
                "definition": definition_digest(problem.definition),
                "workload": workload_digest(workload),
                "solution": solution_digest(solution),
            }
            record = trace.solbench.model_copy(
                update={"digests": digests, "device": options["device"], "mode": options["mode"]}
            )
            update = {"solbench": record, "workload": workload}
            options["on_trace"](trace.model_copy(update=update))
        return EvaluationResult((), problem_score([]), self.phases)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, make_trace: Callable[..., Trace]) -> StandIn:
    stand_in = StandIn(make_trace)
    monkeypatch.setattr("solbench.judge.evaluate", stand_in)
    return stand_in


@pytest.fixture
def arguments(problem_folder: Path) -> list[object]:
    return ["eval", problem_folder, "--solution", problem_folder / "solution.json"]


def test_phases_are_told_on_request_after_everything_else(
    run: Any, judge: StandIn, arguments: list[object]
) -> None:
    judge.phases = (Phase("start", 100.0, 102.5), Phase("build", 100.25, 101.0))
    *traces, last = run(*arguments, "--json", "--phases").stdout.splitlines()
    assert len(uuids("\n".join(traces))) == 2
    assert json.loads(last) == {
        "phases": [
            {"name": "start", "began_s": 0.0, "seconds": 2.5},
            {"name": "build", "began_s": 0.25, "seconds": 0.75},
        ]
    }
    result = run(*arguments, "--phases")
    assert "phases" not in result.stdout
    assert "0.25 s build" in result.stderr
    assert "build" not in run(*arguments).stderr


def test_to_tell_phases_does_not_import_torch() -> None:
    """It would take longer than most of them."""
    program = "import sys, solbench.cli._lines_phases; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_phases_are_not_for_the_suite(run: Any) -> None:
    result = run("eval", "--suite", "--phases")
    assert result.exit_code == 2
    assert "--phases" in result.stderr


def uuids(text: str) -> list[str]:
    return [json.loads(line)["workload"]["uuid"] for line in text.splitlines()]


def test_json_is_one_trace_a_line_and_nothing_else(
    run: Any, judge: StandIn, arguments: list[object]
) -> None:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    assert len(uuids(result.stdout)) == 2
    assert {"definition", "solution", "workload", "evaluation", "solbench"} == set(
        json.loads(result.stdout.splitlines()[0])
    )


def test_the_table_names_problem_solution_and_every_workload(
    run: Any, judge: StandIn, arguments: list[object]
) -> None:
    result = run(*arguments)
    for part in ("double ← double_add", "aaaa1111", "aaaa2222", "2 of 2 passed"):
        assert part in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_one_failed_workload_makes_the_exit_code_1(
    run: Any, judge: StandIn, arguments: list[object], problem_folder: Path
) -> None:
    judge.status[load_problem(problem_folder).workloads[1].uuid] = "TIMEOUT"
    result = run(*arguments)
    assert result.exit_code == 1
    assert "1 of 2 passed" in result.stdout


def test_a_workload_is_found_by_the_beginning_of_its_uuid(
    run: Any, judge: StandIn, arguments: list[object]
) -> None:
    run(*arguments, "--workload", "aaaa2")
    assert judge.asked == ["aaaa2222-0000-4000-8000-000000000002"]


@pytest.mark.parametrize("beginning", ["aaaa", "zzzz"])
def test_an_ambiguous_or_unknown_workload_lists_the_candidates(
    run: Any, judge: StandIn, arguments: list[object], beginning: str
) -> None:
    result = run(*arguments, "--workload", beginning)
    assert result.exit_code == 2
    assert "aaaa2222-0000" in result.stderr
    assert judge.asked == []


def test_out_appends_and_resume_runs_only_what_is_missing(
    run: Any, judge: StandIn, arguments: list[object], tmp_path: Path
) -> None:
    out = tmp_path / "traces.jsonl"
    run(*arguments, "--out", out, "--workload", "aaaa1")
    result = run(*arguments, "--out", out, "--resume", "--json")
    assert judge.asked == [
        "aaaa1111-0000-4000-8000-000000000001",
        "aaaa2222-0000-4000-8000-000000000002",
    ]
    assert [trace.workload.uuid for trace in read_traces(out)] == judge.asked
    assert result.exit_code == 0


def test_what_the_problem_or_the_machine_failed_at_is_tried_again(
    run: Any, judge: StandIn, arguments: list[object], tmp_path: Path
) -> None:
    first, second = "aaaa1111-0000-4000-8000-000000000001", "aaaa2222-0000-4000-8000-000000000002"
    out = tmp_path / "traces.jsonl"
    judge.status = {first: "INVALID_REFERENCE", second: "RUNTIME_ERROR"}  # the disk was full
    assert run(*arguments, "--out", out).exit_code == 1
    judge.asked, judge.status = [], {}
    assert run(*arguments, "--out", out, "--resume").exit_code == 1
    assert judge.asked == [first], "the solution's own failure is a verdict"
    assert [trace.evaluation.status for trace in read_traces(out)] == [
        "INVALID_REFERENCE", "RUNTIME_ERROR", "PASSED",
    ]  # fmt: skip
    judge.asked = []
    run(*arguments, "--out", out, "--resume")
    assert judge.asked == []


def test_resume_refuses_a_file_with_another_solution_of_the_same_name(
    run: Any, judge: StandIn, arguments: list[object], problem_folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "traces.jsonl"
    run(*arguments, "--out", out)
    changed = problem_folder / "solution.json"
    changed.write_text(changed.read_text().replace("x + x", "2 * x"))
    result = run(*arguments, "--out", out, "--resume")
    assert result.exit_code == 2
    assert "with another solution" in " ".join(result.stderr.split())
    assert len(judge.asked) == 2


def test_resume_without_a_file_is_a_usage_error(
    run: Any, judge: StandIn, arguments: list[object]
) -> None:
    result = run(*arguments, "--resume")
    assert result.exit_code == 2
    assert "--out" in result.stderr


def test_without_a_solution_the_reference_is_evaluated(
    run: Any, judge: StandIn, problem_folder: Path
) -> None:
    assert run("eval", problem_folder).exit_code == 0
    contents = [source.content for source in judge.solution.sources]
    assert load_problem(problem_folder).definition.reference in contents


def test_options_reach_the_judge(run: Any, judge: StandIn, arguments: list[object]) -> None:
    machine = ("--device", "cuda:1", "--hardware", "h200")
    run(*arguments, *machine, "--mode", "rank", "--require-jail", "--timeout", "2.5")
    names = ("device", "mode", "require_jail", "hardware", "timeout_s")
    chosen = {key: judge.options[key] for key in names}
    assert chosen == {
        "timeout_s": 2.5,
        "device": "cuda:1",
        "mode": "rank",
        "require_jail": True,
        "hardware": "h200",
    }


@pytest.mark.parametrize("absolute", [True, False])
def test_other_workloads_are_found_beside_the_definition_or_by_path(
    run: Any, judge: StandIn, arguments: list[object], problem_folder: Path, absolute: bool
) -> None:
    line = {"uuid": "large", "axes": {"n": 4096}, "inputs": {"x": {"type": "random"}}}
    file = problem_folder / "workload_gpu.jsonl"
    file.write_text(json.dumps(line) + "\n")
    result = run(*arguments, "--workloads-file", file if absolute else file.name)
    assert result.exit_code == 0, result.stderr
    assert judge.asked == ["large"]


def test_a_solution_of_another_problem_is_refused(
    run: Any, arguments: list[object], problem_folder: Path
) -> None:
    file = problem_folder / "solution.json"
    file.write_text(file.read_text().replace('"definition": "double"', '"definition": "triple"'))
    assert load_solution(file).definition == "triple"
    result = run(*arguments)
    assert result.exit_code == 2
    assert "triple" in result.stderr


def test_resume_reads_past_a_torn_line_and_appends_below_it(
    run: Any, judge: StandIn, arguments: list[object], tmp_path: Path
) -> None:
    out = tmp_path / "traces.jsonl"
    run(*arguments, "--out", out)
    whole, torn = out.read_text().splitlines()
    out.write_text(f"{whole}\n{torn[:40]}")
    assert run(*arguments, "--out", out, "--resume").exit_code == 0
    assert judge.asked[2:] == ["aaaa2222-0000-4000-8000-000000000002"]
    assert out.read_text().splitlines()[:2] == [whole, torn[:40]]
    assert uuids(out.read_text().splitlines()[2]) == judge.asked[2:]


@pytest.mark.parametrize(
    ("option", "value", "other"),
    [
        ("--device", "cuda:0", "device (cpu)"),
        ("--mode", "rank", "mode (reward)"),
        ("--hardware", "b200", "hardware (h200)"),
    ],
)
def test_resume_refuses_to_mix_conditions(
    run: Any,
    judge: StandIn,
    arguments: list[object],
    tmp_path: Path,
    option: str,
    value: str,
    other: str,
) -> None:
    out = tmp_path / "traces.jsonl"
    run(*arguments, "--out", out)
    result = run(*arguments, "--out", out, "--resume", option, value)
    assert result.exit_code == 2
    assert f"with another {other}" in " ".join(result.stderr.split())
    assert len(judge.asked) == 2


def test_a_workload_named_twice_is_evaluated_once(
    run: Any, judge: StandIn, arguments: list[object]
) -> None:
    result = run(*arguments, "--workload", "aaaa1", "--workload", "aaaa1", "--json")
    assert len(uuids(result.stdout)) == len(judge.asked) == 1


def test_out_in_a_folder_that_does_not_exist_is_bad_input(
    run: Any, judge: StandIn, arguments: list[object], tmp_path: Path
) -> None:
    result = run(*arguments, "--out", tmp_path / "none" / "x.jsonl")
    assert result.exit_code == 2
    assert "--out: there is no folder" in result.stderr
    assert judge.asked == []


def test_blobs_reach_the_problem(
    run: Any, judge: StandIn, arguments: list[object], problem_folder: Path, tmp_path: Path
) -> None:
    workload = {
        "uuid": "stored",
        "axes": {"n": 4},
        "inputs": {"x": {"type": "safetensors", "path": "far/w.safetensors", "tensor_key": "x"}},
    }
    (problem_folder / "workload.jsonl").write_text(json.dumps(workload) + "\n")
    (tmp_path / "blobs" / "far").mkdir(parents=True)
    (tmp_path / "blobs" / "far" / "w.safetensors").write_bytes(b"")
    assert run("check", problem_folder).stdout.count("w.safetensors' is in none of") == 1
    assert "none of" not in run("check", problem_folder, "--blobs", tmp_path / "blobs").stdout
    assert run(*arguments, "--blobs", tmp_path / "blobs").exit_code == 0
    assert run(*arguments, "--blobs", tmp_path / "nowhere").exit_code == 2
