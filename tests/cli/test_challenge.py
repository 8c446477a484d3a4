"""``solbench challenge`` from the command line: exit codes, claims, files."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


def test_a_time_above_the_bound_is_said_to_be_none(run: Any, problem_folder: Path) -> None:
    result = run("challenge", problem_folder, "--hardware", "h200", "--latency-ms", "1")
    assert result.exit_code == 0
    assert "not_faster" in result.stdout


def test_an_impossible_time_stands_unexplained(run: Any, problem_folder: Path) -> None:
    result = run(
        "challenge", problem_folder, "--hardware", "h200", "--latency-ms", "1e-9", "--json"
    )
    assert result.exit_code == 1
    record = json.loads(result.stdout)
    assert record["verdict"] == "unexplained"
    assert {each["kind"] for each in record["triage"]} == {"write_absorbed", "rates"}


def test_claimed_work_is_followed_to_small_sizes_and_written(
    run: Any, problem_folder: Path, tmp_path: Path
) -> None:
    # x + x reads 4n and writes 4n bytes; n bytes are claimed. T_floor, without writes, is 4n.
    folder = tmp_path / "tiny"
    result = run(
        "challenge", problem_folder, "--hardware", "h200", "--claimed-bytes", "n", "--out", folder
    )
    assert result.exit_code == 1
    assert "reproduced" in result.stdout
    assert json.loads((folder / "definition.json").read_text())["axes"]["n"]["value"] == 2
    assert "Claimed" in (folder / "CHALLENGE.md").read_text()


def test_a_measured_solution_is_no_faster_than_its_bound(
    run: Any, problem_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def judged(problem: Any, solution: Any, **options: Any) -> Any:
        asked.append((problem.workloads[0].uuid, solution.name, options["device"]))
        timing = SimpleNamespace(median_ms=0.5)
        return SimpleNamespace(
            traces=(
                SimpleNamespace(
                    evaluation=SimpleNamespace(status="PASSED"),
                    solbench=SimpleNamespace(timing=timing),
                ),
            )
        )

    monkeypatch.setattr("solbench.judge.evaluate", judged)
    result = run(
        "challenge", problem_folder, "--hardware", "h200", "--device", "cpu",
        "--solution", problem_folder / "solution.json",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "Claimed: 0.5 ms" in result.stdout
    assert asked == [("aaaa1111-0000-4000-8000-000000000001", "double_add", "cpu")]


@pytest.mark.parametrize("claimed", ["0", "-1", "nan", "inf"])
def test_a_time_that_is_none_is_refused(run: Any, problem_folder: Path, claimed: str) -> None:
    result = run("challenge", problem_folder, "--latency-ms", claimed)
    assert result.exit_code == 2
    assert "above zero" in result.stderr


def test_a_claim_over_unknown_axes_is_refused(run: Any, problem_folder: Path) -> None:
    result = run("challenge", problem_folder, "--hardware", "h200", "--claimed-bytes", "2 * rows")
    assert result.exit_code == 2
    assert "rows" in result.stderr
