"""``solbench eval``: run a solution in the jail, check it, time it, and score it against the bound."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    DeviceName,
    Hardware,
    Json,
    ModeName,
    OutFile,
    ProblemPath,
    RunMode,
    Workloads,
    WorkloadsFile,
    read_problem,
    read_solution,
    select_workloads,
)
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.spec import Trace


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
    device: DeviceName = "cpu",
    workload: Workloads = None,
    workloads_file: WorkloadsFile = None,
    hardware: Hardware = None,
    mode: RunMode = ModeName.REWARD,
    hot: Annotated[
        bool,
        typer.Option(
            "--hot", help="Leave caches as they are; such times are marked and never rank."
        ),
    ] = False,
    require_jail: Annotated[
        bool, typer.Option("--require-jail", help="Refuse to run where a jail layer is missing.")
    ] = False,
    require_admission: Annotated[
        bool,
        typer.Option(
            "--require-admission",
            help="Refuse public problems too whose gate lets answers pass that take no work.",
        ),
    ] = False,
    json_lines: Json = False,
    blobs: Blobs = None,
    out: OutFile = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Skip workloads whose trace is in --out; refused if that holds other conditions.",
        ),
    ] = False,
) -> None:
    """Evaluate a solution: verdict, time, distance to the bound, and score, per workload.

    Exit code 0 if every workload passed, 1 if one did not.

    Example: solbench eval examples/rmsnorm --solution examples/rmsnorm/solution_fast.json
    """
    if resume and out is None:
        raise InputError("there is no file to resume from", key="--resume", remedy="Give --out.")
    from solbench.cli._records import Conditions, finished_traces, open_records
    from solbench.judge import evaluate
    from solbench.spec import trace_line

    problem = read_problem(problem_path, workloads_file, blobs)
    solution = read_solution(problem, solution_path)
    wanted = select_workloads(problem, workload)
    conditions = Conditions(device, hardware, mode.value, hot)
    done = finished_traces(out, problem, solution, conditions) if resume and out else {}
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
                hot=hot,
                require_jail=require_jail,
                require_admission=require_admission,
                on_trace=keep,
            )
    _finish([traces[each.uuid] for each in wanted], json_lines)


def _finish(traces: Sequence[Trace], json_lines: bool) -> None:
    if not json_lines:
        from solbench.report import evaluation_report

        _console.out().print(evaluation_report(traces))
    if any(trace.evaluation.status != "PASSED" for trace in traces):
        raise typer.Exit(_console.ExitCode.NO)
