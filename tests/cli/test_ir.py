"""``solbench ir``: export, bound of a file, picture."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("yaml")


def test_a_graph_is_written_and_its_bound_is_that_of_the_problem(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "graph.yaml"
    assert run("ir", "export", problem_folder, "--out", file).exit_code == 0
    found = run("ir", "bound", file, "--hardware", "h200", "--json")
    assert found.exit_code == 0
    record = json.loads(found.stdout)
    # 256 float32 read and written at 4.8 TB/s
    assert record["t_sol_ms"] == pytest.approx(2 * 256 * 4 / 4.8e12 * 1e3)
    assert record["problem"] == "double"


def test_without_a_file_the_text_goes_to_stdout(run: Any, problem_folder: Path) -> None:
    result = run("ir", "export", problem_folder)
    assert result.stdout.startswith("solbench_ir: 1\n")


def test_json_reads_back_as_well(run: Any, problem_folder: Path, tmp_path: Path) -> None:
    text = run("ir", "export", problem_folder, "--json").stdout
    assert json.loads(text)["program"] == "double"
    file = tmp_path / "graph.json"
    file.write_text(text)
    assert run("ir", "bound", file, "--hardware", "h200").exit_code == 0


def test_a_picture_is_drawn_of_a_problem_and_of_a_file(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    file, first, second = (tmp_path / name for name in ("graph.yaml", "a.svg", "b.svg"))
    run("ir", "export", problem_folder, "--out", file)
    assert run("ir", "picture", problem_folder, "--svg", first).exit_code == 0
    assert run("ir", "picture", file, "--svg", second).exit_code == 0
    assert first.read_text() == second.read_text()
    assert "add" in first.read_text()


def test_a_picture_needs_the_name_of_an_svg_file(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    result = run("ir", "picture", problem_folder, "--svg", tmp_path / "a.png")
    assert result.exit_code == 2
    assert "SVG" in result.stderr
