"""``solbench challenge``: a kernel beat its bound: explain it, or find the tiny program that shows why."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    Clock,
    Hardware,
    Json,
    OneWorkload,
    ProblemPath,
    select_workloads,
)
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.bound.challenge import Case, Challenge, Times
    from solbench.spec import Problem, Solution, Workload


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter("a latency is a number of milliseconds above zero")
    return value


@app.command("challenge")
def challenge_command(
    problem_path: ProblemPath,
    solution_path: Annotated[
        Path | None,
        typer.Option(
            "--solution", metavar="FILE", help="Measure this solution, also at smaller sizes."
        ),
    ] = None,
    device: Annotated[
        str, typer.Option("--device", metavar="DEVICE", help="Where --solution runs: cpu, cuda:0.")
    ] = "cpu",
    latency_ms: Annotated[
        float | None,
        typer.Option(
            "--latency-ms", metavar="MS", callback=_positive, help="A time measured elsewhere."
        ),
    ] = None,
    claimed_bytes: Annotated[
        str | None,
        typer.Option(
            "--claimed-bytes",
            metavar="EXPR",
            help="Bytes that a kernel is said to move, as arithmetic over the axes.",
        ),
    ] = None,
    claimed_flops: Annotated[
        str | None,
        typer.Option("--claimed-flops", metavar="EXPR", help="The same for its matrix FLOPs."),
    ] = None,
    workload: OneWorkload = None,
    hardware: Hardware = None,
    clock_mhz: Clock = None,
    attempts: Annotated[
        int,
        typer.Option("--attempts", metavar="N", min=1, help="Smaller programs and sizes to try."),
    ] = 300,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the tiny problem and the report there."),
    ] = None,
    blobs: Blobs = None,
    json_lines: Json = False,
) -> None:
    """Check a time that beat a bound, and shrink what contradicts the bound.

    Exit code 0 if the bound stands, 1 if it is refuted or the claim stands unexplained.

    Example: solbench challenge examples/rmsnorm --latency-ms 0.001 --hardware h200
    """
    from solbench.bound.challenge import challenge, challenge_text, write_challenge
    from solbench.cli._hardware import resolve_hardware
    from solbench.cli._problems import open_problem
    from solbench.spec import contained

    problem = open_problem(problem_path, blobs)
    chosen = select_workloads(problem, None if workload is None else [workload])[0]
    name = resolve_hardware(hardware)
    times = _times(problem, solution_path, device, claimed_bytes, claimed_flops, name, clock_mhz)
    with _console.progress("challenging the bound", None), contained():
        claim = latency_ms if latency_ms is not None else _first_time(times, problem, chosen)
        found = challenge(
            problem, chosen, name, latency_ms=claim, times=times, clock_mhz=clock_mhz,
            attempts=attempts,
        )  # fmt: skip
    if out is not None:
        write_challenge(found, out)
    if json_lines:
        from solbench.cli._lines_bound import ChallengeLine

        _console.emit(ChallengeLine.of(found))
    else:
        _console.out().print(challenge_text(found), markup=False, soft_wrap=True, end="")
    if _stands(found):
        raise typer.Exit(_console.ExitCode.NO)


def _stands(found: Challenge) -> bool:
    return found.verdict in ("refuted", "reproduced", "unexplained")


def _first_time(times: Times | None, problem: Problem, workload: Workload) -> float | None:
    from solbench.bound.challenge import Case

    if times is None:
        return None
    measured = times(Case(problem.definition, workload))
    if measured is None:
        raise InputError("did not pass on this workload, so there is no time", key="--solution")
    return measured


def _times(
    problem: Problem, solution_path: Path | None, device: str, claimed_bytes: str | None,
    claimed_flops: str | None, hardware: str, clock_mhz: float | None,
) -> Times | None:  # fmt: skip
    """The kernel's time at any sizes: measured, or from what it is said to do."""
    if solution_path is not None:
        from solbench.spec import load_solution

        return _measured(load_solution(solution_path), device, hardware)
    if claimed_bytes is None and claimed_flops is None:
        return None
    return _claimed(claimed_bytes or "0", claimed_flops or "0", hardware, clock_mhz)


def _measured(solution: Solution, device: str, hardware: str) -> Times:
    def measure(case: Case) -> float | None:
        from solbench.judge import evaluate

        (trace,) = evaluate(case.problem, solution, device=device, hardware=hardware).traces
        record = trace.solbench
        if trace.evaluation.status != "PASSED" or record is None or record.timing is None:
            return None
        return record.timing.median_ms

    return measure


def _claimed(moved: str, flops: str, hardware: str, clock_mhz: float | None) -> Times:
    """Claimed work at the peaks of the device, in its fastest class."""
    from solbench.hardware import load_hardware
    from solbench.spec import evaluate, parse_expression

    chip = load_hardware(hardware)
    clock = chip.clock_mhz(clock_mhz)
    rates = {**chip.simt_flops_per_sm_per_clk, **chip.matrix_flops_per_sm_per_clk}
    fastest = chip.flops_per_s(max(rates, key=lambda name: rates[name]), clock)
    byte_count = parse_expression("--claimed-bytes", moved)
    flop_count = parse_expression("--claimed-flops", flops)

    def compute(case: Case) -> float:
        axes = case.problem.axis_values(case.workload)
        memory_s = evaluate(byte_count, axes) / chip.dram_bytes_per_s
        return 1e3 * max(memory_s, evaluate(flop_count, axes) / fastest)

    return compute
