"""``solbench replay``: repeat the verdicts of traces with the seeds that they tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Blobs, Json, WorkloadsFile, read_problem, read_solution
from solbench.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from solbench.judge import Replay
    from solbench.spec import Problem, Trace


@app.command("replay")
def replay_command(
    trace_path: Annotated[
        Path, typer.Argument(metavar="TRACE", help="A JSONL file of traces of one solution.")
    ],
    problem_path: Annotated[
        Path | None,
        typer.Option(
            "--problem",
            metavar="PROBLEM",
            help="Its problem folder. Left out: the bundled problem of that name.",
        ),
    ] = None,
    solution_path: Annotated[
        Path | None,
        typer.Option(
            "--solution",
            metavar="FILE",
            help="The solution that was evaluated. Left out: the reference itself.",
        ),
    ] = None,
    workloads_file: WorkloadsFile = None,
    json_lines: Json = False,
    blobs: Blobs = None,
) -> None:
    """Evaluate again with the seeds of a trace and say whether the verdict is the same.

    Every input is made again as it was, and as many calls at least. Digests must fit: the same definition,
    workload and solution, and the seeds that were committed to. Times are not compared. Exit code 0 if all
    verdicts are the same, 1 if one is not.

    Example: solbench replay traces.jsonl --problem problems/rmsnorm --solution fast.json
    """
    from solbench.spec import read_traces

    traces = read_traces(trace_path)
    if not traces:
        remedy = "'solbench eval --out' writes them."
        raise InputError("holds no trace", file=trace_path, remedy=remedy)
    from solbench.cli._lines_judge import ReplayLine
    from solbench.judge import Judge

    problem = _problem(traces[0], problem_path, workloads_file, blobs)
    solution = read_solution(problem, solution_path)
    found: list[Replay] = []
    with Judge(_device(traces)) as judge, _console.progress("replaying", len(traces)) as bar:
        for trace in traces:
            found.append(judge.replay(trace, problem, solution))
            if json_lines:
                _console.emit(ReplayLine.of(found[-1]))
            bar.advance()
    if not json_lines:
        _console.out().print(_table(found))
    if not all(each.same for each in found):
        raise typer.Exit(_console.ExitCode.NO)


def _problem(
    trace: Trace, path: Path | None, workloads_file: Path | None, blobs: list[Path] | None
) -> Problem:
    if path is not None:
        return read_problem(path, workloads_file, blobs)
    from solbench import suite

    if trace.definition not in suite.names():
        raise InputError(
            f"there is no bundled problem '{trace.definition}'",
            key="--problem",
            remedy="Name the folder of the problem that the traces are of.",
        )
    wanted = trace.workload.uuid
    for smoke in (False, True):
        problem = suite.load(trace.definition, smoke=smoke)
        if any(each.uuid == wanted for each in problem.workloads):
            return problem
    raise InputError(
        f"the bundled problem {trace.definition} has no workload '{wanted}'",
        key="--problem",
        remedy="Name the problem folder.",
    )


def _device(traces: Sequence[Trace]) -> str:
    devices = {trace.solbench.device for trace in traces if trace.solbench is not None}
    if len(devices) > 1:
        raise InputError("traces of several devices cannot be replayed in one run", key="device")
    return next(iter(devices), "") or "cpu"


def _table(found: list[Replay]) -> Table:
    from solbench.report import grid

    table = grid("workload", "was", "is", "same", "differences")
    for each in found:
        table.add_row(
            each.trace.workload.uuid[:8],
            each.earlier.evaluation.status,
            each.trace.evaluation.status,
            "yes" if each.same else "no",
            "; ".join(each.differences),
        )
    return table
