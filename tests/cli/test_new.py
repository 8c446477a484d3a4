"""``solbench new``."""

import json
from pathlib import Path
from typing import Any

import pytest


def test_a_start_is_written_and_found_valid(run: Any, problem_folder: Path, tmp_path: Path) -> None:
    result = run(
        "new", problem_folder, "--language", "triton", "--out", tmp_path / "mine", "--json"
    )
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert record == {
        "solution": "double_triton", "folder": str(tmp_path / "mine"), "sources": ["kernel.py"],
    }  # fmt: skip
    assert run("check", tmp_path / "mine" / "solution.json").exit_code == 0


def test_the_next_command_is_told(
    run: Any, problem_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("new", problem_folder)
    assert "solbench eval" in result.stdout
    assert (tmp_path / "double_pytorch" / "kernel.py").is_file()


def test_what_is_there_is_not_overwritten(run: Any, problem_folder: Path) -> None:
    result = run("new", problem_folder, "--out", problem_folder)
    assert result.exit_code == 2
    assert "--out" in result.stderr


def test_an_unknown_language_lists_the_known_ones(run: Any, problem_folder: Path) -> None:
    result = run("new", problem_folder, "--language", "cobol")
    assert result.exit_code == 2
    assert "cutile" in result.stderr
