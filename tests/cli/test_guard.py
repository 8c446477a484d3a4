"""``solbench guard``."""

import json
from pathlib import Path
from typing import Any

import pytest


def _tricky(folder: Path) -> Path:
    file = folder / "solution.json"
    document = json.loads(file.read_text())
    document["sources"][0]["content"] = (
        "import gc\ngc.get_objects()\ndef run(x):\n    return x.half()\n"
    )
    file.write_text(json.dumps(document))
    return file


def test_an_honest_solution_is_let_pass(run: Any, problem_folder: Path) -> None:
    result = run("guard", problem_folder / "solution.json")
    assert result.exit_code == 0
    assert "no rule found anything" in result.stdout


def test_tricks_are_told_with_place_and_line(run: Any, problem_folder: Path) -> None:
    result = run("guard", _tricky(problem_folder), "--json")
    assert result.exit_code == 1
    record = json.loads(result.stdout)
    found = {each["rule"]: each for each in record["findings"]}
    assert record["suspicious"] and record["reviewer"] is None
    assert (found["looks_around"]["line"], found["looks_around"]["severity"]) == (2, "alarm")
    assert "precision_cast" in found  # the definition beside it says float32
    assert "main.py:2" in run("guard", problem_folder / "solution.json").stdout


def test_rules_are_listed(run: Any) -> None:
    assert "dynamic_code" in run("guard", "--list-rules").stdout
    rules = [
        json.loads(line) for line in run("guard", "--list-rules", "--json").stdout.splitlines()
    ]
    assert {"rule", "severity", "about"} == set(rules[0])


def test_wrong_requests_say_what_is_wrong(
    run: Any, problem_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOLBENCH_LLM_MODEL", raising=False)
    assert "SOLUTION" in run("guard").stderr
    solution = problem_folder / "solution.json"
    assert run("guard", solution, "--reviewer-model", "m").exit_code == 2
    unnamed = run("guard", solution, "--reviewer-base-url", "http://127.0.0.1:9/v1")
    assert "--reviewer-model" in unnamed.stderr
    other = json.loads(solution.read_text()) | {"definition": "another"}
    solution.write_text(json.dumps(other))
    result = run("guard", solution, "--problem", problem_folder)
    assert result.exit_code == 2
    assert "another" in result.stderr
