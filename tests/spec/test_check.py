from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from solbench.spec import Finding, check

Write = Callable[..., Path]


def said(findings: list[Finding], folder: Path) -> list[str]:
    return [str(finding).replace(f"{folder}/", "") for finding in findings]


def test_a_tree_of_sound_problems_has_only_warnings(public_form: Path) -> None:
    findings = check(public_form)
    assert {finding.severity for finding in findings} == {"warning"}
    assert len(findings) == 3  # the three that loading reports


def test_a_sound_folder_has_no_findings(
    write_problem: Write, definition: Any, workload: Any, solution: Any, trace: Any
) -> None:
    folder = write_problem(definition, workload)
    (folder / "solution.json").write_text(json.dumps(solution))
    (folder / "results.jsonl").write_text(json.dumps(trace))
    (folder / "notes.json").write_text("[1, 2]")
    assert check(folder) == []
    for file in ("definition.json", "workload.jsonl", "solution.json", "results.jsonl"):
        assert check(folder / file) == []


def test_everything_wrong_in_a_folder_is_found_in_one_pass(
    write_problem: Write, definition: Any, workload: Any, solution: Any, trace: Any
) -> None:
    definition["inputs"]["x"]["shape"] = ["rows", "colums"]
    folder = write_problem(definition, workload, "{}", {"uuid": "w1", "axes": {}})
    definition_file = folder / "definition.json"
    loose = folder / "solutions" / "loose"
    loose.mkdir(parents=True)
    meta = {key: value for key, value in solution.items() if key != "sources"}
    (loose / "solution.json").write_text(json.dumps(meta))
    (loose / "main.py").write_text("def run(x, factor): return x +\n")
    trace["evaluation"]["status"] = "BROKEN"
    (folder / "traces.jsonl").write_text(json.dumps(trace))
    assert said(check(folder), folder) == [
        "error: definition.json:20: inputs.x.shape[1]: 'colums' is neither an axis nor a positive "
        "integer. Declare it under 'axes', or use one of: rows, columns, double.",
        "error: solutions/loose/solution.json:1: sources[0]: main.py line 1 is not Python: "
        "invalid syntax",
        "error: traces.jsonl:1: evaluation.status: should be 'PASSED', 'INCORRECT_SHAPE', "
        "'INCORRECT_DTYPE', 'INCORRECT_NUMERICAL', 'RUNTIME_ERROR', 'COMPILE_ERROR', 'TIMEOUT', "
        "'REWARD_HACK' or 'INVALID_REFERENCE'",
        "error: workload.jsonl:2: uuid: is missing. Add it.",
    ]
    definition["inputs"]["x"]["shape"] = ["rows", "columns"]
    definition_file.write_text(json.dumps(definition))
    assert said(check(folder / "workload.jsonl"), folder)[1:] == [
        "error: workload.jsonl:3: axes.rows: workload w1 gives no value for this axis. "
        "Add it to the workload's 'axes'.",
    ]


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (
            {"definition": "other"},
            "error: solution.json:1: definition: 'other' is not the problem here, which is "
            "'scale_rows'",
        ),
        (
            {"sources": [{"path": "main.py", "content": "def run(x): pass"}]},
            "error: solution.json:1: spec.entry_point: 'run' (main.py line 1) takes 1, but is called "
            "with 2 inputs",
        ),
        (
            {"sources": [{"path": "main.py", "content": "def walk(x): pass"}]},
            "error: solution.json:1: spec.entry_point: main.py does not define 'run' at top level",
        ),
        (
            {
                "spec": {
                    "languages": ["pytorch"],
                    "target_hardware": ["LOCAL"],
                    "entry_point": "main.py::run",
                }
            },
            "error: solution.json:1: spec.entry_point: 'run' (main.py line 1) takes 2, but is called "
            "with 2 inputs and 1 outputs. Without destination passing, set "
            "'destination_passing_style' to false.",
        ),
        ({"tags": 1}, "warning: solution.json:1: tags: unknown key, kept"),
    ],
)
def test_a_solution_is_held_against_the_problem_around_it(
    write_problem: Write, definition: Any, workload: Any, solution: Any, change: Any, finding: str
) -> None:
    folder = write_problem(definition, workload)
    (folder / "solution.json").write_text(json.dumps(solution | change))
    assert said(check(folder), folder) == [finding]
    assert said(check(folder / "solution.json"), folder) == [finding]


def test_a_native_entry_point_must_be_mentioned(tmp_path: Path, solution: Any) -> None:
    solution["spec"] |= {"languages": ["cpp"], "entry_point": "k.cpp::run", "binding": "c"}
    solution["sources"] = [{"path": "k.cpp", "content": "int runs();"}]
    file = tmp_path / "solution.json"
    file.write_text(json.dumps(solution))
    (finding,) = check(file)
    assert finding.what == "no source mentions 'run'"
    solution["sources"][0]["content"] = 'extern "C" int run();'
    file.write_text(json.dumps(solution))
    assert check(file) == []


def test_settings_without_effect_are_warned_about(tmp_path: Path, solution: Any) -> None:
    solution["spec"] |= {"binding": "torch", "compile_options": {}}
    file = tmp_path / "solution.json"
    file.write_text(json.dumps(solution))
    assert [(finding.severity, finding.key) for finding in check(file)] == [
        ("warning", "spec.binding"),
        ("warning", "spec.compile_options"),
    ]


def test_a_missing_blob_is_warned_about(public_form: Path, tmp_path: Path) -> None:
    folder = tmp_path / "problem"
    shutil.copytree(public_form / "packed_blob", folder)
    shutil.rmtree(folder / "blobs")
    (finding,) = check(folder)
    assert (finding.severity, finding.key) == ("warning", "inputs.weight.path")


def test_blobs_are_looked_up_where_loading_looks(
    public_form: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "problem"
    shutil.copytree(public_form / "packed_blob", folder)
    shutil.move(folder / "blobs", tmp_path / "elsewhere" / "blobs")
    monkeypatch.setenv("FLASHINFER_TRACE_DIR", str(tmp_path / "elsewhere"))
    assert check(folder) == []


def test_a_folder_without_workloads_is_incomplete(
    write_problem: Write, definition: Any, workload: Any
) -> None:
    folder = write_problem(definition, workload)
    (folder / "workload.jsonl").unlink()
    assert said(check(folder), folder) == ["error: workload.jsonl: is missing"]


@pytest.mark.parametrize("name", ["absent.json", "nul\0", "x" * 300])
def test_a_path_that_cannot_be_read_is_a_finding(tmp_path: Path, name: str) -> None:
    (finding,) = check(tmp_path / name)
    assert finding.severity == "error" and finding.what.startswith("cannot be read")


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.json", "[]"), ("a.json", '{"x": 1}'), ("a.jsonl", '{"x": 1}'), ("a.jsonl", "")],
)
def test_a_file_of_no_known_kind_is_a_finding_when_asked_for(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    (finding,) = check(tmp_path / name)
    assert "is none of: definition" in finding.what
    assert check(tmp_path) == []


def test_kinds_are_told_by_keys_where_names_do_not(
    tmp_path: Path, definition: Any, workload: Any, solution: Any, trace: Any
) -> None:
    for name, value in {
        "a.json": definition | {"axes": 1},
        "b.jsonl": workload | {"axes": 1},
        "c.json": solution | {"author": 1},
        "d.jsonl": trace | {"solution": 1},
    }.items():
        (tmp_path / name).write_text(json.dumps(value))
    assert [finding.key for finding in check(tmp_path)] == ["axes", "axes", "author", "solution"]
