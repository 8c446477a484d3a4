from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from solbench.errors import SpecError, SpecErrors
from solbench.spec import (
    Definition,
    Solution,
    Trace,
    Workload,
    definition_digest,
    json_line,
    json_text,
    read_traces,
    solution_digest,
    trace_line,
    workload_digest,
    workload_line,
    write_json,
)

RECORD: dict[str, Any] = {
    "t_sol_ms": 0.5,
    "t_attainable_ms": None,
    "t_floor_ms": None,
    "binding": "dram",
    "score": None,
    "score_note": "withheld",
    "baseline": "provisional: reference",
    "flags": [{"id": "drift", "evidence": "3 %"}],
    "timing": {"median_ms": 1, "ci_low_ms": 0.9, "ci_high_ms": 1.1, "samples": [1.0, 1.1]},
    "reference_timing": None,
    "digests": {"solution": "00"},
    "jail": {"seccomp": True},
    "bound": {"flops": 3},
    "failure": {"got": math.nan, "expected": [math.inf, -math.inf, 1.0]},
    "version": "0.1.0",
}


def test_a_file_is_written_back_as_it_was_read(definition: Any, tmp_path: Path) -> None:
    definition["hf_id"] = None
    definition["tags"] = ["kept"]
    text = json_text(Definition.model_validate(definition))
    assert json.loads(text) == definition  # null shapes stay, absent keys stay absent
    write_json(tmp_path / "deep" / "a.json", Definition.model_validate(definition))
    assert (tmp_path / "deep" / "a.json").read_text() == text


def test_text_that_is_no_ascii_is_written_as_it_is(solution: Any) -> None:
    solution["author"] = "Zoë"
    assert '"author": "Zoë"' in json_text(Solution.model_validate(solution))


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path, solution: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError, match="cannot be written"):
        write_json(tmp_path / "file" / "a.json", Solution.model_validate(solution))


def test_a_workload_is_one_line(workload: Any) -> None:
    line = workload_line(Workload.model_validate(workload))
    assert "\n" not in line
    assert json.loads(line) == workload


def test_a_trace_line_is_strict_json_with_official_keys_first(trace: Any, tmp_path: Path) -> None:
    line = trace_line(Trace.model_validate({"note": "x", **trace, "solbench": RECORD}))

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    value = json.loads(line, parse_constant=refuse)
    assert list(value) == ["definition", "solution", "workload", "evaluation", "solbench", "note"]
    assert value["workload"] == trace["workload"]
    assert value["solbench"]["failure"] == {"got": "nan", "expected": ["inf", "-inf", 1.0]}
    (tmp_path / "t.jsonl").write_text(line + "\n")
    (read,) = read_traces(tmp_path / "t.jsonl")
    assert trace_line(read) == line


def test_an_official_trace_has_no_key_of_ours(trace: Any) -> None:
    assert json.loads(trace_line(Trace.model_validate(trace))) == trace


def test_a_failed_evaluation_writes_null(trace: Any) -> None:
    trace["evaluation"] |= {"status": "TIMEOUT", "correctness": None, "performance": None}
    evaluation = json.loads(trace_line(Trace.model_validate(trace)))["evaluation"]
    assert evaluation["correctness"] is None and evaluation["performance"] is None


def test_errors_that_are_no_number_become_null(trace: Any) -> None:
    trace["evaluation"]["correctness"] |= {
        "max_relative_error": math.nan,
        "max_absolute_error": math.inf,
    }
    correctness = json.loads(trace_line(Trace.model_validate(trace)))["evaluation"]["correctness"]
    assert correctness["max_relative_error"] is None
    assert correctness["max_absolute_error"] is None


def test_a_latency_that_is_no_number_is_refused(trace: Any) -> None:
    trace["evaluation"]["performance"]["latency_ms"] = math.inf
    with pytest.raises(ValidationError):
        Trace.model_validate(trace)


def test_a_number_that_is_none_in_an_unknown_key_is_refused(trace: Any) -> None:
    made = Trace.model_validate({**trace, "spare": {"a": [math.nan]}})
    with pytest.raises(SpecError, match=r"spare.a\[0\]: nan is not a finite number"):
        trace_line(made)


@pytest.mark.parametrize("status", ["INCORRECT_NUMERICAL", "RUNTIME_ERROR"])
def test_only_a_passed_trace_has_a_performance(trace: Any, status: str, tmp_path: Path) -> None:
    trace["evaluation"]["status"] = status
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(trace))
    with pytest.raises(SpecError, match=rf"performance: stands beside status {status}"):
        read_traces(file)


def test_every_bad_line_of_a_trace_file_is_reported(trace: Any, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    bad = {**trace, "evaluation": {**trace["evaluation"], "status": "FINE"}}
    file.write_text("\n".join([json.dumps(trace), "{", json.dumps(bad)]))
    with pytest.raises(SpecErrors) as caught:
        read_traces(file)
    assert [(error.line, error.key) for error in caught.value.errors] == [
        (2, None),
        (3, "evaluation.status"),
    ]


def test_an_empty_trace_file_holds_no_trace(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("")
    assert read_traces(tmp_path / "t.jsonl") == ()


def test_digests_ignore_spelling_and_heed_meaning(
    definition: Any, workload: Any, solution: Any
) -> None:
    plain = definition_digest(Definition.model_validate(definition))
    spelled = dict(reversed(definition.items())) | {"hf_id": "", "constraints": []}
    assert definition_digest(Definition.model_validate(spelled)) == plain
    axes = {"axes": dict(reversed(definition["axes"].items()))}
    assert definition_digest(Definition.model_validate(definition | axes)) == plain
    inputs = {"inputs": dict(reversed(definition["inputs"].items()))}
    assert definition_digest(Definition.model_validate(definition | inputs)) != plain

    plain = workload_digest(Workload.model_validate(workload))
    default = {"tolerance": {"max_atol": 0.01}}
    assert workload_digest(Workload.model_validate(workload | default)) == plain
    assert workload_digest(Workload.model_validate(workload | {"uuid": "w1"})) != plain

    plain = solution_digest(Solution.model_validate(solution))
    solution["spec"]["compile_options"] = {}
    assert solution_digest(Solution.model_validate(solution)) != plain


def test_a_digest_is_the_hash_of_canonical_json() -> None:
    import hashlib

    canonical = b'{"axes":{"m":2},"uuid":"\\u00e9"}'
    workload = Workload(uuid="é", axes={"m": 2})
    assert workload_digest(workload) == hashlib.sha256(canonical).hexdigest()


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_record_is_one_line_to_readers_of_any_kind(end: str) -> None:
    text = f'no{end}{{"forged": 1}}{end} é'
    line = json_line({"log": text})
    assert line.splitlines() == [line]
    assert json.loads(line) == {"log": text}
    assert "é" in line
