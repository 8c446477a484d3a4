"""``solbench compare``: two solutions of one problem, interleaved on one device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    DeviceName,
    Json,
    ModeName,
    ProblemPath,
    RunMode,
    Workloads,
    WorkloadsFile,
    read_problem,
    read_solution,
    select_workloads,
)

if TYPE_CHECKING:
    from solbench.judge import Comparison


@app.command("compare")
def compare_command(
    problem_path: ProblemPath,
    first_path: Annotated[Path, typer.Argument(metavar="A", help="A solution.")],
    second_path: Annotated[Path, typer.Argument(metavar="B", help="Another solution.")],
    device: DeviceName = "cpu",
    workload: Workloads = None,
    workloads_file: WorkloadsFile = None,
    mode: RunMode = ModeName.REWARD,
    json_lines: Json = False,
    blobs: Blobs = None,
) -> None:
    """Time two solutions side by side (A B, B A, …): per workload, which is faster, with the 95 % interval.

    Drift of the machine meets both alike. A difference within the interval, or within one per cent (100 ns for
    short calls), is a tie. Every call is checked as in eval. Exit code 0 if all workloads were compared, 1 if
    one was not, because a solution failed on it.

    Example: solbench compare problems/rmsnorm fast.json slow.json --mode rank
    """
    from solbench.cli._lines_judge import CompareLine
    from solbench.judge import Judge
    from solbench.report import comparison_report

    problem = read_problem(problem_path, workloads_file, blobs)
    first, second = read_solution(problem, first_path), read_solution(problem, second_path)
    wanted = select_workloads(problem, workload)
    with Judge(device) as judge, _console.progress("comparing", len(wanted)) as bar:

        def keep(comparison: Comparison) -> None:
            if json_lines:
                _console.emit(CompareLine.of(problem.name, comparison))
            bar.advance(comparison.outcome)

        found = judge.compare(
            problem,
            first,
            second,
            workloads=[each.uuid for each in wanted],
            mode=mode.value,
            on_comparison=keep,
        )
    if not json_lines:
        report = comparison_report(found, problem.name, first.name, second.name)
        _console.out().print(report)
    if any(each.outcome == "not_compared" for each in found):
        raise typer.Exit(_console.ExitCode.NO)
