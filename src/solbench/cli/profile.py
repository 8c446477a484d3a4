"""``solbench profile``: an evaluation with one page about where the time goes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    DeviceName,
    Hardware,
    Json,
    ProblemPath,
    Workloads,
    read_solution,
    select_workloads,
)
from solbench.errors import InputError


@app.command("profile")
def profile_command(
    problem_path: ProblemPath,
    solution_path: Annotated[
        Path | None,
        typer.Option(
            "--solution", metavar="FILE", help="A solution; left out: the reference itself."
        ),
    ] = None,
    traces_file: Annotated[
        Path | None,
        typer.Option(
            "--traces",
            metavar="FILE",
            help="Traces that eval --out wrote, of any solution, in place of an evaluation.",
        ),
    ] = None,
    device: DeviceName = "cpu",
    workload: Workloads = None,
    hardware: Hardware = None,
    json_lines: Json = False,
) -> None:
    """Say what to do next: where it is wrong, how far it is, what binds, and where the time goes.

    Kernels by name come from the worker's own profiler (PyTorch's, on a GPU): advice. Exit code as for eval.

    Example: solbench profile examples/rmsnorm --solution examples/rmsnorm/solution_fast.json
    """
    from solbench.cli._problems import open_problem
    from solbench.judge import evaluate
    from solbench.report import feedback, feedback_report
    from solbench.spec import read_traces

    problem = open_problem(problem_path)
    wanted = [each.uuid for each in select_workloads(problem, workload)]
    if traces_file is not None:
        read = {each.workload.uuid: each for each in read_traces(traces_file)}
        traces = [read[uuid] for uuid in wanted if uuid in read]
        if not traces:
            raise InputError("holds no trace of this problem's workloads", file=traces_file)
    else:
        solution = read_solution(problem, solution_path)
        with (
            _console.records_only(),
            _console.progress(f"profiling {solution.name}", len(wanted)) as bar,
        ):
            result = evaluate(
                problem, solution, device=device, workloads=wanted, hardware=hardware,
                mode="rank" if device.startswith("cuda") else "reward",
                on_trace=lambda trace: bar.advance(trace.evaluation.status),
            )  # fmt: skip
        traces = list(result.traces)
    if json_lines:
        for trace in traces:
            _console.emit(asdict(feedback(trace)))
    else:
        _console.out().print(feedback_report(traces))
    if any(trace.evaluation.status != "PASSED" for trace in traces):
        raise typer.Exit(_console.ExitCode.NO)
