"""``solbench profile``: an evaluation with one page about where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
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
    OutFile,
    ProblemPath,
    Workloads,
    WorkloadsFile,
    read_solution,
    select_workloads,
)
from solbench.errors import BuildError, DeviceError, InputError

if TYPE_CHECKING:
    from solbench.cli._recording import Keep
    from solbench.spec import Problem, Solution, Trace


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
    workloads_file: WorkloadsFile = None,
    hardware: Hardware = None,
    ncu: Annotated[
        bool,
        typer.Option(
            "--ncu",
            help="Also run each workload under Nsight Compute. It runs the solution outside the jail, with "
            "your rights.",
        ),
    ] = False,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write this HTML page.")
    ] = None,
    blobs: Blobs = None,
    out: OutFile = None,
    json_lines: Json = False,
) -> None:
    """Say what to do next: where it is wrong, how far it is, what binds, and where the time goes.

    Kernels by name, or a CPU's operations, come from the worker's own profiler (PyTorch's): advice.

    Exit code 0 if every workload passed, 1 if one did not.

    Example: solbench profile examples/rmsnorm --solution examples/rmsnorm/solution_fast.json
    """
    _console.require_folder(page, "--html")
    from solbench.cli._problems import open_problem
    from solbench.cli._recording import recording
    from solbench.report import feedback, feedback_report, html_page

    problem = open_problem(problem_path, blobs, workloads_file)
    wanted = [each.uuid for each in select_workloads(problem, workload)]
    if traces_file is not None:
        traces = _kept(traces_file, wanted)
    else:
        solution = read_solution(problem, solution_path)
        with recording(out, json_lines=False) as keep:
            traces = _evaluated(
                problem, solution, wanted, device, hardware, keep=None if ncu else keep
            )
            if ncu:
                traces = _with_nsight(problem, solution, traces, device, keep)
    if page is not None:
        _console.write_file(page, html_page(traces, f"{problem.name}: profile"))
    if json_lines:
        for trace in traces:
            _console.emit(feedback(trace))
    else:
        _console.out().print(feedback_report(traces))
        if not ncu and traces_file is None:
            _tell_of_nsight(device)
    if any(trace.evaluation.status != "PASSED" for trace in traces):
        raise typer.Exit(_console.ExitCode.NO)


def _kept(file: Path, wanted: Sequence[str]) -> list[Trace]:
    from solbench.spec import read_traces

    read = {each.workload.uuid: each for each in read_traces(file)}
    traces = [read[uuid] for uuid in wanted if uuid in read]
    if not traces:
        remedy = "'solbench eval PROBLEM --out FILE' writes them."
        raise InputError("holds no trace of this problem's workloads", file=file, remedy=remedy)
    return traces


def _evaluated(
    problem: Problem, solution: Solution, wanted: Sequence[str], device: str, hardware: str | None,
    keep: Keep | None,
) -> list[Trace]:  # fmt: skip
    from solbench.judge import evaluate

    def done(trace: Trace) -> None:
        if keep is not None:
            keep(trace)
        bar.advance(trace.evaluation.status)

    with (
        _console.records_only(),
        _console.progress(f"profiling {solution.name}", len(wanted)) as bar,
    ):
        result = evaluate(
            problem, solution, device=device, workloads=wanted, hardware=hardware, profile=True,
            on_trace=done,
        )  # fmt: skip
    return list(result.traces)


def _with_nsight(
    problem: Problem, solution: Solution, traces: Sequence[Trace], device: str, keep: Keep
) -> list[Trace]:
    """With the profiler's kernels in the advice of each workload that passed; what it cannot do is a note."""
    extended = []
    for trace in traces:
        passed = trace.evaluation.status == "PASSED"
        extended.append(_one_with_nsight(problem, solution, trace, device) if passed else trace)
        keep(extended[-1])
    return extended


def _one_with_nsight(problem: Problem, solution: Solution, trace: Trace, device: str) -> Trace:
    from solbench.judge.nsight import profile_nsight

    record = trace.solbench
    if record is None:
        return trace
    try:
        kernels = profile_nsight(problem, solution, trace.workload, device)
    except (DeviceError, BuildError) as error:
        _console.note(f"note: {error}")
        return trace
    advice = {**(record.advice or {}), "nsight": [asdict(each) for each in kernels]}
    return trace.model_copy(update={"solbench": record.model_copy(update={"advice": advice})})


def _tell_of_nsight(device: str) -> None:
    from solbench.judge.nsight import find_nsight

    if device.startswith("cuda") and find_nsight():
        _console.note(
            "note: Nsight Compute is installed; --ncu adds its counters, outside the jail"
        )
