"""``solbench eval``: run a solution in the jail, check it, time it, and score it against the bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    Hardware,
    Json,
    OutFile,
    ProblemPath,
    Workloads,
    select_workloads,
)
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.spec import Problem, Solution, Trace


class Mode(StrEnum):
    REWARD = "reward"
    RANK = "rank"


@app.command("eval")
def evaluate_command(
    problem_path: ProblemPath,
    solution_path: Annotated[
        Path | None,
        typer.Option(
            "--solution",
            metavar="FILE",
            help="A solution's JSON, or a folder of its loose sources. "
            "Left out: the reference itself, which scores about 0.5.",
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option("--device", metavar="DEVICE", help="Where to run: cpu, or cuda:0 and so on."),
    ] = "cpu",
    workload: Workloads = None,
    workloads_file: Annotated[
        Path | None,
        typer.Option(
            "--workloads-file",
            metavar="FILE",
            help="Workloads in place of workload.jsonl: a file of the problem folder, or a path.",
        ),
    ] = None,
    hardware: Hardware = None,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            metavar="reward|rank",
            help="reward: quick, for iteration; rank: longer, for records.",
        ),
    ] = Mode.REWARD,
    require_jail: Annotated[
        bool, typer.Option("--require-jail", help="Refuse to run where a jail layer is missing.")
    ] = False,
    json_lines: Json = False,
    blobs: Blobs = None,
    out: OutFile = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Skip workloads whose trace for this same solution is in --out."
        ),
    ] = False,
) -> None:
    """Evaluate a solution: verdict, time, distance to the bound, and score, per workload.

    Exit code 0 if every workload passed, 1 if one did not.

    Example: solbench eval examples/rmsnorm --solution examples/rmsnorm/solution_fast.json
    """
    if resume and out is None:
        raise InputError("there is no file to resume from", key="--resume", remedy="Give --out.")
    from solbench.cli._records import finished_traces, open_records
    from solbench.judge import evaluate
    from solbench.spec import trace_line

    problem, solution = _load(_load_problem(problem_path, workloads_file, blobs), solution_path)
    wanted = select_workloads(problem, workload)
    done = finished_traces(out, problem, solution, device, hardware) if resume and out else {}
    missing = [each for each in wanted if each.uuid not in done]
    traces = dict(done)
    with ExitStack() as stack:
        if json_lines:
            stack.enter_context(_console.records_only())
        sink = stack.enter_context(open_records(out)) if out else None
        bar = stack.enter_context(_console.progress(f"evaluating {solution.name}", len(missing)))

        def keep(trace: Trace) -> None:
            traces[trace.workload.uuid] = trace
            if sink is not None:
                sink.write(trace_line(trace) + "\n")
                sink.flush()
            if json_lines:
                typer.echo(trace_line(trace))
            bar.advance(trace.evaluation.status)

        if missing:
            evaluate(
                problem,
                solution,
                device=device,
                workloads=[each.uuid for each in missing],
                hardware=hardware,
                mode=mode.value,
                require_jail=require_jail,
                on_trace=keep,
            )
    _finish([traces[each.uuid] for each in wanted], json_lines)


def _load(problem: Problem, solution_path: Path | None) -> tuple[Problem, Solution]:
    from solbench.judge import reference_solution
    from solbench.spec import load_solution

    for warning in problem.warnings:
        _console.note(f"note: {warning}")
    if solution_path is None:
        return problem, reference_solution(problem)
    solution = load_solution(solution_path)
    if solution.definition != problem.name:
        raise InputError(
            f"this solution is for '{solution.definition}', the problem is '{problem.name}'",
            file=solution_path,
            key="definition",
        )
    return problem, solution


def _load_problem(path: Path, workloads_file: Path | None, blobs: list[Path] | None) -> Problem:
    from solbench.spec import load_problem

    if workloads_file is None:
        return load_problem(path, blobs or ())
    folder = path if path.is_dir() else path.parent
    beside = (folder / workloads_file).exists()
    return load_problem(
        path,
        blobs or (),
        workload_file=str(workloads_file if beside else workloads_file.resolve()),
    )


def _finish(traces: Sequence[Trace], json_lines: bool) -> None:
    if not json_lines:
        from solbench.report import evaluation_report

        _console.out().print(evaluation_report(traces))
    if any(trace.evaluation.status != "PASSED" for trace in traces):
        raise typer.Exit(_console.ExitCode.NO)
