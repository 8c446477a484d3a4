"""What commands print with ``--json`` is what their schemas say: every command, kind of line, and error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import TypeAdapter

from solbench.bound import Admission as PrecisionAdmission
from solbench.bound import Bound, PlaceAdmission, Trial
from solbench.bound.suggest import Suggestion
from solbench.cli import app
from solbench.cli._lines import FORM
from solbench.cli._lines_bound import AdmissionRecord, BoundLine, PlaceRecord, TrialRecord
from solbench.cli._schemas import _RECORDS, COMMANDS, ERROR, Whole, _found, command_schema
from solbench.gate import OutputError
from solbench.hardware import Calibration
from solbench.judge import Admission, Comparison, Finding, Interval, Replay, Side, attacks
from solbench.judge.guard import Opinion
from solbench.spec import trace_line
from solbench.suite.admission import Finding as GateFinding
from solbench.suite.admission import ProblemCheck

from .conftest import UUIDS
from .test_eval import StandIn as EvalStandIn
from .test_eval_suite import StandIn as SuiteStandIn
from .test_judging import StandIn

jsonschema = pytest.importorskip("jsonschema")
CORPUS = Path(__file__).parent.parent / "attacks" / "cases"
schema_of = cache(command_schema)
MODULE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return {body}


def get_inputs():
    return [torch.rand(4, 4)]
"""


def valid(line: str, name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(line)
    jsonschema.validate(record, schema_of(name))
    return record


# Every command and every kind of line


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        full = f"{prefix} {name}".strip()
        if hasattr(command, "commands"):
            yield from commands(command, full)
        else:
            yield full, command


def test_every_command_has_a_schema_and_nothing_else_has() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert set(found) == set(COMMANDS)
    assert all(any("--json" in p.opts for p in each.params) for each in found.values())


CASES: dict[tuple[str, str], list[object]] = {
    ("admit", "AdmitLine"): ["double"],
    ("attacks run", "AttackLine"): ["theft_p", "--corpus", CORPUS],
    ("bound", "BoundLine"): ["product.py", "put.py", "--hardware", "h200", "--jobs", "1"],
    ("calibrate", "Calibration"): [],
    ("challenge", "ChallengeLine"): [
        "double", "--hardware", "h200", "--claimed-bytes", "n", "--attempts", "3",
    ],
    ("check", "Finding"): ["traces.jsonl"],
    ("compare", "CompareLine"): ["double", "double/solution.json", "double/solution.json"],
    ("doctor", "Check"): [],
    ("eval", "Trace"): ["double", "--solution", "double/solution.json"],
    ("eval", "SuiteLine"): ["suite:gqa_paged_decode*", "--suite"],
    ("eval", "PhasesLine"): ["double", "--solution", "double/solution.json", "--phases"],
    ("explain", "ExplainLine"): [
        "product.py", "--hardware", "h200", "--method", "fused-io", "--cache", "--verify",
    ],
    ("explain", "ComparedBoundsLine"): ["product.py", "--hardware", "h200", "--compare", "b200"],
    ("guard", "GuardLine"): [
        "double/solution.json", "--reviewer-base-url", "http://x", "--reviewer-model", "m",
    ],
    ("guard", "RuleLine"): ["--list-rules"],
    ("hardware list", "CpuLine"): [],
    ("hardware list", "Hardware"): [],
    ("hardware show", "Hardware"): ["h200"],
    ("ir bound", "BoundLine"): ["graph.json", "--hardware", "h200"],
    ("ir export", "GraphFileLine"): ["double", "--out", "out.json"],
    ("ir export", "GraphLine"): ["suite:gqa_paged_decode_h32_kv8_d128_ps1"],
    ("ir picture", "PictureLine"): ["double", "--svg", "out.svg"],
    ("new", "NewLine"): ["double", "--out", "mine"],
    ("ops coverage", "CoverageLine"): ["put.py"],
    ("ops coverage", "UncapturedLine"): ["broken.py"],
    ("ops list", "RuleInfo"): ["--family", "matmul"],
    ("ops suggest", "Suggestion"): [
        "aten.put.default", "--program", "put.py", "--base-url", "http://x", "--model", "m",
    ],
    ("pack", "PackLine"): ["double", "--out", "packed.json"],
    ("profile", "Feedback"): ["double", "--traces", "traces.jsonl"],
    ("replay", "ReplayLine"): ["traces.jsonl", "--problem", "double"],
    ("report", "Summary"): ["traces.jsonl"],
    ("schema", "SchemaLine"): ["trace"],
    ("schema", "SchemaNamesLine"): [],
    ("serve", "ServeLine"): ["--port", "0"],
    ("suite check", "ProblemCheckLine"): ["rmsnorm_h512"],
    ("suite export", "ExportLine"): ["exported", "rmsnorm_h512"],
    ("suite list", "ProblemLine"): [],
    ("suite show", "ProblemLine"): ["rmsnorm_h512"],
    ("unpack", "UnpackLine"): ["double/solution.json", "--out", "loose"],
}  # fmt: skip
"""(command, kind of line) → arguments, in a folder that ``here`` fills."""


def validator_of(command: str, kind: str) -> Any:
    """Of this kind of line alone."""
    (place,) = (place for place in _RECORDS[command] if place.endswith(f".{kind}"))
    union: Any = _found(place) | None
    schema = TypeAdapter(union, config=FORM).json_schema(
        mode="serialization", schema_generator=Whole
    )
    return jsonschema.Draft202012Validator(schema)


def test_every_kind_of_line_has_a_case() -> None:
    kinds = {(c, place.rsplit(".", 1)[1]) for c, places in _RECORDS.items() for place in places}
    assert set(CASES) == kinds


@pytest.fixture
def here(
    problem_folder: Path, make_trace: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """Files that the cases name; what takes long or needs a network is a stand-in with real results."""
    monkeypatch.chdir(tmp_path)
    Path("product.py").write_text(MODULE.format(body="x @ x"))
    Path("put.py").write_text(MODULE.format(body="x.put(torch.tensor([0]), x[0, :1])"))
    Path("broken.py").write_text(MODULE.format(body="x @ x[:3]"))
    trace = make_trace(definition="double", axes={"n": 256})
    workload = trace.workload.model_copy(update={"uuid": UUIDS[0]})
    Path("traces.jsonl").write_text(
        trace_line(trace.model_copy(update={"workload": workload})) + "\n"
    )
    return tmp_path


def _judge(monkeypatch: pytest.MonkeyPatch) -> None:
    error = OutputError(1e-3, 2e-3, 1.0, 3.0)
    interval = Interval(1.0, 0.9, 1.1)
    judge = StandIn()
    judge.admission = lambda uuid: Admission(
        uuid, (Finding("null answers", "failed", "y: zeros"),), {"y": error}
    )
    judge.comparison = lambda uuid: Comparison(
        uuid, "not_compared", Side("TIMEOUT", "no answer"), Side("PASSED", timing=interval)
    )
    judge.replayed = lambda trace: Replay(trace, trace, ("the status was A and is B",))
    monkeypatch.setattr("solbench.judge.Judge", judge)


def _attacks(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_attack(judge: object, name: str, case: attacks.AttackCase) -> attacks.Finding:
        observed = attacks.Observation("PASSED", ("jail_incomplete",))
        return attacks.Finding(
            name, case.family, case.kind, observed, observed, None, case.expected, "", "stole it"
        )

    monkeypatch.setattr(attacks, "run_attack", run_attack)
    monkeypatch.setattr(attacks, "require_walls", lambda judge, case: None)


def _calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Calibration(
        "cpu", "A CPU", 2, "2.13.0", "2026-01-01T00:00:00Z", 1000.0, 1e10, 1e10, 1e10, 1e10,
        {"fp32": 1e11}, 1 << 20, 1e11, 1 << 18, 3.0, 1.0,
    )  # fmt: skip
    monkeypatch.setattr("solbench.hardware.calibrate", lambda *_, **__: measured)


def _suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOLBENCH_LLM_API_KEY", "none")
    found = Suggestion("aten.put.default", True, Path("rules/put.py"), ("no code",), 3)
    monkeypatch.setattr("solbench.bound.suggest.suggest_rule", lambda *_, **__: found)


def _reviewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOLBENCH_LLM_API_KEY", "none")
    opinion = Opinion(verdict="suspicious", confidence=0.5)
    monkeypatch.setattr(
        "solbench.judge.guard.ModelReviewer.opinion", lambda self, solution: opinion
    )


def _service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("solbench.service.serve", lambda _, started: started("http://x:1"))


def _suite_check(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ProblemCheck("rmsnorm_h512", (GateFinding("bound", "not_verified", "why"),), 1.0)
    monkeypatch.setattr("solbench.suite.admission.check_problems", lambda *_, **__: [found])


STAND_INS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "admit": _judge,
    "attacks run": _attacks,
    "calibrate": _calibration,
    "compare": _judge,
    "guard": _reviewer,
    "ops suggest": _suggestion,
    "replay": _judge,
    "serve": _service,
    "suite check": _suite_check,
}


@pytest.mark.parametrize(("command", "kind"), CASES)
def test_what_a_command_prints_is_as_its_schema_says(
    command: str, kind: str, run: Any, here: Path, monkeypatch: pytest.MonkeyPatch, make_trace: Any
) -> None:
    STAND_INS.get(command, lambda _: None)(monkeypatch)
    if kind in ("Trace", "PhasesLine"):  # test_eval_rules.py validates those of the real judge
        monkeypatch.setattr("solbench.judge.evaluate", EvalStandIn(make_trace))
    if kind == "SuiteLine":
        monkeypatch.setattr("solbench.judge.Judge", SuiteStandIn(make_trace))
    if command == "check":
        Path("traces.jsonl").write_text("{}\n")
    if command == "ir bound":
        Path("graph.json").write_text(run("ir", "export", "double", "--json").stdout)
    result = run(*command.split(), *CASES[command, kind], "--json")
    assert result.exit_code in (0, 1), result.stderr
    records = [valid(line, command) for line in result.stdout.splitlines()]
    assert not any("exit_code" in record for record in records)
    alone = validator_of(command, kind)
    of_this_kind = [record for record in records if alone.is_valid(record)]
    assert of_this_kind, result.stdout[:400]
    if kind not in ("Trace", "SchemaLine"):
        assert not any(alone.is_valid(record | {"no_such_key": 1}) for record in of_this_kind)
        assert not any(alone.is_valid(dict([*record.items()][1:])) for record in of_this_kind)


@pytest.mark.parametrize("name", [*COMMANDS, ERROR])
def test_a_schema_is_one_and_refuses_what_is_not_a_record(name: str) -> None:
    schema = schema_of(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    for wrong in ({}, {"more": 1}, [], "text"):
        assert not jsonschema.Draft202012Validator(schema).is_valid(wrong)


def test_a_schema_is_asked_for_by_the_words_of_the_command(run: Any) -> None:
    result = run("schema", "suite", "list", "--json")
    assert json.loads(result.stdout) == schema_of("suite list")
    assert json.loads(run("schema", "suite list").stdout) == schema_of("suite list")


def test_without_a_name_the_names_are_listed(run: Any) -> None:
    shown = " ".join(run("schema").stdout.split())
    assert "definition, workload, solution, trace" in shown
    assert "suite list, suite show, unpack, error" in shown
    assert all(run("schema", *name.split()).exit_code == 0 for name in ("trace", "error", "pack"))


def test_an_unknown_name_lists_the_known_ones(run: Any) -> None:
    for words in (["nonsense"], ["suite"], ["suite", "lisp"]):
        result = run("schema", *words)
        assert result.exit_code == 2
        assert "suite list" in " ".join(result.stderr.split())


def test_the_record_of_a_bound_has_the_fields_of_the_library() -> None:
    def names(kind: Any) -> set[str]:
        return {field.name for field in fields(kind)}

    assert set(TrialRecord.model_fields) == names(Trial)
    assert set(PlaceRecord.model_fields) == names(PlaceAdmission)
    assert set(AdmissionRecord.model_fields) == names(PrecisionAdmission)
    assert set(BoundLine.model_fields) == names(Bound) - {"terms", "demand"}


# Errors


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_is_misused_ends_with_an_error_line(command: str, run: Any) -> None:
    result = run(*command.split(), "--no-such-option", "--json")
    assert result.exit_code == 2
    (line,) = result.stdout.splitlines()
    record = valid(line, command)
    assert record == valid(line, ERROR)
    assert record["exit_code"] == 2
    assert "--no-such-option" in record["error"]


def test_a_wrong_option_before_the_command_is_told_so_too(run: Any) -> None:
    for arguments in (["--no-such-option", "doctor"], ["no_such_command"]):
        result = run(*arguments, "--json")
        assert result.exit_code == 2
        (line,) = result.stdout.splitlines()
        assert "no" in valid(line, ERROR)["error"].lower()


UNREADABLE: dict[str, list[object]] = {
    "admit": ["nowhere"],
    "attacks run": ["--corpus", "nowhere"],
    "bound": ["nowhere"],
    "calibrate": ["--device", "toaster"],
    "challenge": ["nowhere"],
    "compare": ["nowhere", "a.json", "b.json"],
    "eval": ["nowhere"],
    "explain": ["nowhere"],
    "guard": ["nowhere"],
    "hardware show": ["nowhere"],
    "ir bound": ["nowhere"],
    "ir export": ["nowhere"],
    "ir picture": ["nowhere", "--svg", "a.svg"],
    "new": ["nowhere"],
    "ops coverage": ["nowhere"],
    "ops list": ["--family", "nowhere"],
    "ops suggest": ["nowhere", "--program", "nowhere", "--base-url", "http://x", "--model", "m"],
    "pack": ["nowhere"],
    "profile": ["nowhere"],
    "replay": ["nowhere"],
    "schema": ["nowhere"],
    "report": ["nowhere"],
    "suite check": ["nowhere"],
    "suite export": ["out", "nowhere"],
    "suite show": ["nowhere"],
    "unpack": ["nowhere", "--out", "loose"],
}
"""Those that can be given something that is not there; ``check`` reports it as a finding."""


@pytest.mark.parametrize("command", UNREADABLE)
def test_what_is_not_there_is_named_in_the_error_line(
    command: str, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOLBENCH_LLM_API_KEY", "none")
    result = run(*command.split(), *UNREADABLE[command], "--json")
    assert result.exit_code == 2, result.stderr
    record = valid(result.stdout.splitlines()[-1], command)
    assert record["exit_code"] == 2
    told = " ".join(str(record[key]) for key in ("error", "file", "key"))
    assert ("toaster" if command == "calibrate" else "nowhere") in told


def test_an_error_of_ours_keeps_its_parts(run: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("no\n" * 3)
    record = valid(run("report", bad, "--json").stdout, "report")
    assert (record["file"], record["line"]) == (str(bad), 1)
    assert [other["line"] for other in record["others"]] == [2, 3]


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (RuntimeError("boom"), 4, "boom"),
        (KeyboardInterrupt(), 130, "stopped"),
        (ModuleNotFoundError("no", name="torch"), 3, "torch"),
        (OSError(28, "No space left on device"), 3, "No space"),
        (PermissionError(13, "Permission denied", "x.json"), 2, "denied"),
    ],
)
def test_whatever_ends_a_command_is_told_with_its_exit_code(
    run: Any, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, word: str
) -> None:
    monkeypatch.setattr("solbench.suite.catalogue", failing(error))
    result = run("suite", "list", "--json")
    assert result.exit_code == code
    record = valid(result.stdout, "suite list")
    assert record["exit_code"] == code
    assert word in record["error"]


def test_without_json_an_error_prints_nothing_on_stdout(run: Any) -> None:
    result = run("suite", "show", "nowhere")
    assert result.stdout == ""
    assert "nowhere" in result.stderr
