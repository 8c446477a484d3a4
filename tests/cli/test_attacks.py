"""``solbench attacks``: which cases, what is printed, which exit code. The corpus has its own tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from solbench.cli import app
from solbench.judge import attacks
from solbench.judge.attacks import Finding, Observation

CORPUS = Path(__file__).parent.parent / "attacks" / "cases"
RUNNER = CliRunner()


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the cases that were run; those called ``theft_pip`` gain."""
    seen: list[str] = []

    def run_attack(judge: object, name: str, case: attacks.AttackCase) -> Finding:
        seen.append(name)
        gain = "stole it" if name == "theft_pip" else ""
        observed = Observation("PASSED" if gain else "RUNTIME_ERROR")
        return Finding(
            name, case.family, case.kind, observed, None, None, case.expected, "a wall", gain
        )

    monkeypatch.setattr(attacks, "run_attack", run_attack)
    monkeypatch.setattr(attacks, "require_walls", lambda judge, case: None)
    return seen


def invoke(*arguments: str) -> tuple[int, str]:
    result = RUNNER.invoke(app, ["attacks", "run", "--corpus", str(CORPUS), *arguments])
    return result.exit_code, result.output


def test_names_are_beginnings_and_no_gain_is_a_yes(judged: list[str]) -> None:
    code, output = invoke("caching_by_s", "theft_links")
    assert (code, judged) == (0, ["caching_by_shape", "theft_links"])
    assert "0 of 2 attacks gained" in output


def test_a_gain_is_a_no_and_is_told(judged: list[str]) -> None:
    code, output = invoke("theft_pip")
    assert code == 1
    assert "stole it" in output
    assert "1 of 1 attacks gained" in output


def test_json_is_one_line_a_case(judged: list[str]) -> None:
    code, output = invoke("theft_p", "--json")
    records = [json.loads(line) for line in output.splitlines()]
    assert code == 1
    assert {record["name"]: record["gained"] for record in records}["theft_pip"]
    assert all(record["attack"]["status"] for record in records)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("no_such",), "no_such"),
        (("--ablate", "moat"), "moat"),
        (("x", "--ablate", "landlock"), "NAME"),
    ],
)
def test_what_does_not_exist_is_a_usage_error(
    judged: list[str], arguments: tuple[str, ...], word: str
) -> None:
    code, output = invoke(*arguments)
    assert code == 2
    assert word in output
    assert not judged


def test_a_folder_without_cases_is_named(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["attacks", "run", "--corpus", str(tmp_path)])
    assert result.exit_code == 2
    assert "no cases" in result.output
