"""Running ``ncu``, in whose place stands a script."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import solbench
from solbench.errors import DeviceError
from solbench.judge.nsight import profile_nsight
from solbench.judge.nsight._run import run_nsight
from solbench.spec import Problem, Solution, load_solution

from .test_page import ROW, page

EXAMPLE = Path(__file__).parents[3] / "examples/rmsnorm"


@pytest.fixture
def problem() -> Problem:
    return solbench.load_problem(EXAMPLE)


@pytest.fixture
def solution() -> Solution:
    return load_solution(EXAMPLE / "solution_fast.json")


def tool(folder: Path, says: str, code: int = 0) -> str:
    """A stand-in that keeps its arguments, and the size of the inputs that it is given."""
    program = folder / "ncu"
    (folder / "says").write_text(says)
    program.write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {folder}/arguments\n"
        f"for last; do :; done; wc -c < $last > {folder}/size\ncat {folder}/says\nexit {code}\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_the_solution_is_watched_with_its_inputs(
    tmp_path: Path, problem: Problem, solution: Solution
) -> None:
    workload = problem.workloads[1]
    ncu = tool(tmp_path, page(ROW))
    (kernel,) = run_nsight(ncu, problem, solution, workload, "cpu")
    assert kernel.name.startswith("rms")
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert arguments[:2] == ["--clock-control", "none"]
    axes = problem.axis_values(workload)
    hidden_bytes = 2 * axes["num_tokens"] * axes["hidden_size"]
    assert int((tmp_path / "size").read_text()) >= hidden_bytes + 2 * axes["hidden_size"]


def test_a_missing_permission_is_told_with_the_way_out(
    tmp_path: Path, problem: Problem, solution: Solution
) -> None:
    ncu = tool(tmp_path, "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", 1)
    with pytest.raises(DeviceError, match=r"administrator.*--ncu"):
        run_nsight(ncu, problem, solution, problem.workloads[0], "cpu")


def test_a_target_that_fails_shows_its_last_words(
    tmp_path: Path, problem: Problem, solution: Solution
) -> None:
    ncu = tool(tmp_path, "==PROF== Connected\nRuntimeError: it broke\n", 1)
    with pytest.raises(DeviceError, match="RuntimeError: it broke"):
        run_nsight(ncu, problem, solution, problem.workloads[0], "cpu")


def test_a_cpu_is_refused(problem: Problem, solution: Solution) -> None:
    with pytest.raises(DeviceError, match="NVIDIA"):
        profile_nsight(problem, solution, problem.workloads[0], "cpu")
