"""``solbench eval --suite`` and ``--held-out``: what is judged, written, resumed and summed, by a stand-in."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solbench.cli._eval_suite import Outcome
from solbench.cli._suite_outcomes import signal_lines
from solbench.judge import EvaluationResult
from solbench.score import problem_score
from solbench.spec import (
    Flag,
    GuardFinding,
    Trace,
    definition_digest,
    read_traces,
    solution_digest,
    workload_digest,
    write_json,
)
from solbench.suite import held_out, load, names

TWO = "suite:gqa_paged_decode*"
"""Two problems of the serving tier."""


class StandIn:
    """In place of ``solbench.judge.Judge``: answers each workload with a status, keeps what it was asked."""

    asked: list[tuple[str, str, str]]
    started: int

    def __init__(self, make_trace: Callable[..., Trace]) -> None:
        self.make_trace = make_trace
        self.asked, self.started, self.closed = [], 0, 0
        self.fails: set[str] = set()

    def __call__(self, device: str, *, hot: bool, rules: tuple[Path, ...]) -> "StandIn":
        self.device = device
        self.started += 1
        return self

    def close(self) -> None:
        self.closed += 1

    def evaluate(self, problem: Any, solution: Any, **options: Any) -> None:
        for uuid in options["workloads"]:
            self.asked.append((problem.name, uuid, solution.name))
            options["on_trace"](self.answer(problem, solution, uuid, options))

    def answer(self, problem: Any, solution: Any, uuid: str, options: Any) -> Trace:
        status = "INCORRECT_NUMERICAL" if problem.name in self.fails else "PASSED"
        trace = self.make_trace(
            uuid, status=status, definition=problem.name, solution=solution.name
        )
        digests = {
            "definition": definition_digest(problem.definition),
            "workload": workload_digest(problem.workload(uuid)),
            "solution": solution_digest(solution),
        }
        record = trace.solbench.model_copy(
            update={"digests": digests, "device": "cpu", "mode": options["mode"]}
        )
        return trace.model_copy(update={"solbench": record, "workload": problem.workload(uuid)})


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, make_trace: Callable[..., Trace]) -> StandIn:
    stand_in = StandIn(make_trace)
    monkeypatch.setattr("solbench.judge.Judge", stand_in)
    return stand_in


def smoke_count(*problems: str) -> int:
    return sum(len(load(name, smoke=True).workloads) for name in problems)


def test_every_problem_is_judged_on_its_smoke_workloads_by_one_judge(
    run: Any, judge: StandIn
) -> None:
    result = run("eval", "--suite")
    assert result.exit_code == 0
    assert (judge.started, judge.closed) == (1, 1)
    assert list(dict.fromkeys(name for name, _, _ in judge.asked)) == list(names())
    assert len(judge.asked) == smoke_count(*names())
    assert "94 of 94" in result.stdout
    assert "235 of 235" in result.stdout


def test_a_pattern_chooses_problems(run: Any, judge: StandIn) -> None:
    assert run("eval", TWO, "--suite").exit_code == 0
    assert {name for name, _, _ in judge.asked} == {n for n in names() if "gqa_paged_decode" in n}


def test_a_pattern_that_matches_nothing_is_bad_input(run: Any, judge: StandIn) -> None:
    assert run("eval", "suite:nothing*", "--suite").exit_code == 2


def test_what_fails_is_named_and_the_answer_is_no(run: Any, judge: StandIn) -> None:
    judge.fails = {"gqa_paged_decode_h32_kv8_d128_ps1"}
    result = run("eval", TWO, "--suite")
    assert result.exit_code == 1
    assert "1 of 2" in result.stdout
    assert "gqa_paged_decode_h32_kv8_d128_ps1 (" in result.stdout.replace("\n", " ")


def test_flags_and_findings_are_told_with_their_problems(
    run: Any, judge: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = GuardFinding(
        rule="timer_access", severity="alarm", file="main.py", line=1, message="m", excerpt="x"
    )
    flag = Flag(id="jail_incomplete", evidence="landlock")
    plain = judge.answer

    def flagged(problem: Any, *rest: Any) -> Trace:
        trace = plain(problem, *rest)
        assert trace.solbench is not None
        mine = problem.name == "gqa_paged_decode_h32_kv8_d128_ps1"
        update = {"flags": (flag,), "findings": (finding,) if mine else ()}
        return trace.model_copy(update={"solbench": trace.solbench.model_copy(update=update)})

    monkeypatch.setattr(judge, "answer", flagged)
    shown = " ".join(run("eval", TWO, "--suite").stdout.split())
    both = [name for name in names() if "gqa_paged_decode" in name]
    assert f"flag jail_incomplete: {', '.join(both)}" in shown
    assert "guard alarm timer_access: gqa_paged_decode_h32_kv8_d128_ps1" in shown


def test_of_many_problems_with_a_flag_the_first_are_named(make_trace: Callable[..., Trace]) -> None:
    trace = make_trace(flags=({"id": "jail_incomplete", "evidence": "landlock"},))
    outcomes = [Outcome(name, "FIB", (trace,), 1.0) for name in "abcde"]
    assert signal_lines(outcomes) == ["flag jail_incomplete: a, b, c and 2 more"]


def test_json_ends_with_sums_by_tier(run: Any, judge: StandIn) -> None:
    lines = [json.loads(line) for line in run("eval", TWO, "--suite", "--json").stdout.splitlines()]
    assert all("evaluation" in line for line in lines[:-1])
    tiers = lines[-1]["suite"]["tiers"]
    assert [tier["tier"] for tier in tiers] == ["FIB", "all"]
    assert tiers[0]["problems"] == tiers[0]["passed"] == 2
    assert tiers[0]["workloads"] == len(lines) - 1


def test_a_resumed_run_judges_only_what_is_missing(
    run: Any, judge: StandIn, tmp_path: Path
) -> None:
    file = tmp_path / "traces.jsonl"
    first = sorted(name for name in names() if "gqa_paged_decode" in name)[0]
    run("eval", f"suite:{first}", "--suite", "--out", file)
    judge.asked.clear()
    assert run("eval", TWO, "--suite", "--out", file, "--resume").exit_code == 0
    (second,) = {name for name, _, _ in judge.asked}
    assert second != first
    judge.asked.clear()
    assert run("eval", TWO, "--suite", "--out", file, "--resume").exit_code == 0
    assert (judge.asked, judge.started) == ([], 2)


def test_solutions_come_from_a_folder_and_problems_without_one_are_left_out(
    run: Any, judge: StandIn, tmp_path: Path
) -> None:
    from solbench.judge import reference_solution

    name = "gqa_paged_decode_h32_kv8_d128_ps1"
    mine = reference_solution(load(name)).model_copy(update={"name": "mine"})
    write_json(tmp_path / f"{name}.json", mine)
    assert run("eval", "--suite", "--solutions", tmp_path).exit_code == 0
    assert {(problem, solution) for problem, _, solution in judge.asked} == {(name, "mine")}


def test_a_folder_without_solutions_is_bad_input(run: Any, judge: StandIn, tmp_path: Path) -> None:
    assert run("eval", "--suite", "--solutions", tmp_path).exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("eval",),
        ("eval", "--suite", "--solution", "x.json"),
        ("eval", "--suite", "--workload", "ab"),
        ("eval", "--suite", "--workloads-file", "other.jsonl"),
    ],
)
def test_options_that_do_not_go_together_are_bad_input(
    run: Any, judge: StandIn, arguments: tuple[str, ...]
) -> None:
    assert run(*arguments).exit_code == 2
    assert judge.asked == []


def test_held_out_sizes_are_committed_to_before_and_opened_after(
    run: Any, judge: StandIn, tmp_path: Path
) -> None:
    file, name = tmp_path / "traces.jsonl", "rmsnorm_h512"
    assert run("eval", f"suite:{name}", "--suite", "--held-out", 2, "--out", file).exit_code == 0
    traces = read_traces(file)
    published = {each.uuid for each in load(name, smoke=True).workloads}
    digests = [trace.solbench.digests for trace in traces if trace.solbench]
    assert len({each["held_out"] for each in digests}) == 1
    assert [t.workload.uuid in published for t in traces] == [
        "held_out_opening" not in each for each in digests
    ]
    secret = digests[-1]["held_out_opening"]
    assert hashlib.sha256(secret.encode()).hexdigest() == digests[0]["held_out"]
    again = [each.uuid for each in held_out(name, secret, 2, smoke=True).workloads]
    assert [trace.workload.uuid for trace in traces][-2:] == again


def test_held_out_sizes_are_new_in_every_run(run: Any, judge: StandIn, tmp_path: Path) -> None:
    for _ in range(2):
        run("eval", "suite:rmsnorm_h512", "--suite", "--held-out", 1)
    uuids = [uuid for _, uuid, _ in judge.asked]
    published = {each.uuid for each in load("rmsnorm_h512", smoke=True).workloads}
    secret = [uuid for uuid in uuids if uuid not in published]
    assert len(secret) == 2


def test_held_out_sizes_of_a_folder_are_refused(run: Any, problem_folder: Path) -> None:
    assert run("eval", problem_folder, "--held-out", 1).exit_code == 2


def test_a_problem_of_the_suite_is_named_as_such(
    run: Any, monkeypatch: pytest.MonkeyPatch, make_trace: Callable[..., Trace]
) -> None:
    stand_in = StandIn(make_trace)

    def evaluate(problem: Any, solution: Any, **options: Any) -> EvaluationResult:
        stand_in.evaluate(problem, solution, **options)
        return EvaluationResult((), problem_score([]))

    monkeypatch.setattr("solbench.judge.evaluate", evaluate)
    smoke = ("--workloads-file", "workload_smoke.jsonl")
    result = run("eval", "suite:rmsnorm_h512", *smoke, "--held-out", 1)
    assert result.exit_code == 0
    assert len(stand_in.asked) == smoke_count("rmsnorm_h512") + 1
    assert "SHA-256 of the secret" in result.stderr
