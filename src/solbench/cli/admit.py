"""``solbench admit``: whether a problem's gate can tell right answers from answers that take no work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    DeviceName,
    Json,
    ProblemPath,
    Workloads,
    WorkloadsFile,
    read_problem,
    select_workloads,
)

if TYPE_CHECKING:
    from rich.table import Table

    from solbench.judge import Admission

_MARKS = {"ok": "ok", "failed": "[bold]failed[/bold]", "open": "open"}


@app.command("admit")
def admit_command(
    problem_path: ProblemPath,
    device: DeviceName = "cpu",
    workload: Workloads = None,
    workloads_file: WorkloadsFile = None,
    json_lines: Json = False,
    blobs: Blobs = None,
) -> None:
    """Check a problem: answers that take no work must fail its gate, every input must count, and its reference
    must be near float64.

    Evaluations do the same first, and remember it. Problems of the bundled suite that fail are refused; public
    ones are judged with the flag weak_gate, or refused with --require-admission. Exit code 0 if every workload
    passed, 1 if one did not.

    Example: solbench admit examples/rmsnorm
    """
    from solbench.cli._lines_judge import AdmitLine
    from solbench.judge import Judge

    problem = read_problem(problem_path, workloads_file, blobs)
    wanted = select_workloads(problem, workload)
    with Judge(device) as judge, _console.progress("admitting", len(wanted)) as bar:

        def keep(admission: Admission) -> None:
            if json_lines:
                _console.emit(AdmitLine.of(problem.name, admission))
            bar.advance()

        admissions = judge.admit(
            problem, workloads=[each.uuid for each in wanted], on_admission=keep
        )
    if not json_lines:
        _console.out().print(_table(admissions))
    if not all(each.passed for each in admissions):
        raise typer.Exit(_console.ExitCode.NO)


def _table(admissions: tuple[Admission, ...]) -> Table:
    from solbench.report import grid

    table = grid("workload", "check", "outcome", "detail")
    for admission in admissions:
        for number, finding in enumerate(admission.findings):
            name = admission.workload[:8] if number == 0 else ""
            table.add_row(name, finding.check, _MARKS[finding.outcome], finding.detail)
    return table
