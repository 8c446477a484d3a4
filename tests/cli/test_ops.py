"""``solbench ops``: list, coverage, suggest."""

import json
from pathlib import Path
from typing import Any

import pytest

MODULE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.put(torch.tensor([0]), x[0, :1])


def get_inputs():
    return [torch.rand(4, 4)]
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_text(MODULE)
    return file


def test_list_shows_rules_of_a_family(run: Any) -> None:
    result = run("ops", "list", "--family", "matmul", "--json")
    assert result.exit_code == 0
    rules = [json.loads(line) for line in result.stdout.splitlines()]
    assert {rule["family"] for rule in rules} == {"matmul"}
    assert any("aten.mm.default" in rule["overloads"] for rule in rules)
    assert run("ops", "list").exit_code == 0


def test_an_unknown_family_lists_the_known_ones(run: Any) -> None:
    result = run("ops", "list", "--family", "magic")
    assert result.exit_code == 2
    assert "matmul" in result.stderr


def test_coverage_says_no_where_an_operation_has_no_rule(
    run: Any, module: Path, problem_folder: Path
) -> None:
    assert run("ops", "coverage", problem_folder).exit_code == 0
    result = run("ops", "coverage", module, problem_folder, "--json")
    assert result.exit_code == 1
    first = json.loads(result.stdout.splitlines()[0])
    assert (first["op"], first["covered"]) == ("aten.put.default", False)


def test_suggest_says_what_is_missing(
    run: Any, module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOLBENCH_LLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    result = run("ops", "suggest", "aten.put.default", "--program", module)
    assert result.exit_code == 2
    assert "SOLBENCH_LLM_BASE_URL" in result.stderr.replace("\n", "")
