"""Problems of the suite, by name, where a command takes a problem."""

import json
from pathlib import Path
from typing import Any

import pytest

from solbench.cli._problems import open_problem, program_paths
from solbench.errors import InputError
from solbench.suite import names


def test_a_problem_of_the_suite_is_bounded_by_its_name(run: Any) -> None:
    result = run("bound", "suite:rmsnorm_h128", "--hardware", "h200", "--json", "--jobs", "1")
    assert result.exit_code == 0, result.stderr
    records = [json.loads(line) for line in result.stdout.splitlines()]
    # bfloat16: x of [rows, 128] and the weight of 128 are read, y as large as x is written.
    rows = [record["dram_write_bytes"] // 256 for record in records]
    assert len(set(rows)) == 16
    assert [r["dram_read_bytes"] for r in records] == [256 * n + 256 for n in rows]


def test_smoke_workloads_are_chosen_by_their_file() -> None:
    small = open_problem(Path("suite:rmsnorm_h128"), None, Path("workload_smoke.jsonl"))
    full = open_problem(Path("suite:rmsnorm_h128"))
    assert 0 < len(small.workloads) < len(full.workloads)
    assert small.definition == full.definition


def test_another_workload_file_is_refused_and_the_two_are_named() -> None:
    with pytest.raises(InputError, match=r"workload\.jsonl and workload_smoke\.jsonl"):
        open_problem(Path("suite:rmsnorm_h128"), None, Path("mine.jsonl"))


def test_an_unknown_name_shows_near_ones(run: Any) -> None:
    result = run("bound", "suite:rmsnorm_h129")
    assert result.exit_code == 2
    assert "rmsnorm_h128" in result.stderr


def test_folders_are_left_as_they_are_and_exports_are_gone_afterwards(problem_folder: Path) -> None:
    with program_paths([problem_folder, Path("suite:rmsnorm_h128")]) as paths:
        assert paths[0] == problem_folder
        assert (paths[1] / "workload_smoke.jsonl").is_file()
    assert not paths[1].exists()


def test_a_pattern_stands_for_the_problems_that_it_matches() -> None:
    wanted = [name for name in names() if name.startswith("rmsnorm_h")]
    assert len(wanted) > 1
    with program_paths([Path("suite:rmsnorm_h*")]) as paths:
        assert [path.name for path in paths] == wanted
    with pytest.raises(InputError, match="no problem 'z"), program_paths([Path("suite:z*")]):
        pass
