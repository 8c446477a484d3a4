"""What commands print with ``--json`` is what their schemas say."""

import json
from pathlib import Path
from typing import Any

import pytest

from solbench.cli._schemas import COMMANDS, command_schema
from solbench.spec import trace_line

from .conftest import UUIDS

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture
def traces(tmp_path: Path, make_trace: Any) -> Path:
    trace = make_trace(definition="double", axes={"n": 256})
    workload = trace.workload.model_copy(update={"uuid": UUIDS[0]})
    file = tmp_path / "run.jsonl"
    file.write_text(trace_line(trace.model_copy(update={"workload": workload})) + "\n")
    return file


def arguments(name: str, folder: Path, traces: Path) -> list[object]:
    (folder.parent / "packed").mkdir()
    solution = folder / "solution.json"
    return {
        "bound": ["bound", folder, "--hardware", "h200"],
        "check": ["check", folder.parent / "packed", traces],
        "doctor": ["doctor"],
        "guard": ["guard", solution],
        "guard-rules": ["guard", "--rules"],
        "hardware": ["hardware", "show", "h200"],
        "new": ["new", folder, "--out", folder / "mine"],
        "pack": ["pack", folder, "--out", folder.parent / "packed.json"],
        "profile": ["profile", folder, "--traces", traces],
        "report": ["report", traces],
        "unpack": ["unpack", solution, "--out", folder / "loose"],
    }[name]


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"serve", "eval"}))
def test_a_record_is_as_its_schema_says(
    name: str, run: Any, problem_folder: Path, traces: Path
) -> None:
    if name == "guard":
        document = json.loads((problem_folder / "solution.json").read_text())
        document["sources"][0]["content"] = "eval('1')\ndef run(x):\n    return x\n"
        (problem_folder / "solution.json").write_text(json.dumps(document))
    if name == "check":
        traces.write_text(traces.read_text() + "{}\n")
    result = run(*arguments(name, problem_folder, traces), "--json")
    lines = result.stdout.splitlines()
    assert lines, result.stderr
    schema = json.loads(run("schema", name).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    for line in lines:
        jsonschema.validate(json.loads(line), schema)


def test_the_other_schemas_are_valid_and_take_what_is_printed(traces: Path) -> None:
    jsonschema.validate(json.loads(traces.read_text()), command_schema("eval"))
    line = {"url": "http://127.0.0.1:1", "devices": ["cpu"]}
    jsonschema.validate(line, command_schema("serve"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**line, "more": 1}, command_schema("serve"))


def test_an_unknown_name_lists_the_known_ones(run: Any) -> None:
    result = run("schema", "nonsense")
    assert result.exit_code == 2
    assert "guard-rules" in result.stderr
