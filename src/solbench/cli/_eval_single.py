"""``solbench eval PROBLEM``: one solution of one problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from solbench.cli import _console
from solbench.cli._recording import opened_last, recording
from solbench.cli._records import Conditions, finished_traces

if TYPE_CHECKING:
    from solbench.cli._held_out import HeldOut
    from solbench.judge import Options, Phase
    from solbench.spec import Problem, Solution, Trace, Workload


@dataclass(frozen=True, slots=True)
class SingleRun:
    """What is to be judged."""

    problem: Problem
    solution: Solution
    wanted: tuple[Workload, ...]
    held_out: HeldOut | None
    """Those of ``wanted`` whose sizes are secret."""
    tells_phases: bool = False
    """Whether it is told where the time went."""


def evaluate_single(
    run: SingleRun,
    conditions: Conditions,
    options: Options,
    *,
    out: Path | None,
    resume: bool,
    json_lines: bool,
) -> None:
    """Judge it, show a table or JSON lines; exit code 1 unless every workload passed."""
    from solbench.judge import evaluate

    phases: tuple[Phase, ...] = ()
    done = finished_traces(out, run.problem, run.solution, conditions) if resume and out else {}
    missing = [each.uuid for each in run.wanted if each.uuid not in done]
    traces = dict(done)
    if run.held_out is not None:
        _console.note(f"note: SHA-256 of the secret of held-out sizes: {run.held_out.commitment}")
    with (
        recording(out, json_lines) as keep,
        _console.progress(f"evaluating {run.solution.name}", len(missing)) as bar,
    ):

        def remember(trace: Trace) -> None:
            traces[trace.workload.uuid] = trace
            keep(trace)
            bar.advance(trace.evaluation.status)

        if missing:
            with opened_last(remember, run.held_out) as signed:
                phases = evaluate(
                    run.problem,
                    run.solution,
                    device=conditions.device,
                    hot=conditions.hot,
                    rules=conditions.rules,
                    workloads=missing,
                    on_trace=signed,
                    **options,
                ).phases
    ordered = [traces[each.uuid] for each in run.wanted]
    if not json_lines:
        from solbench.report import evaluation_report

        _console.out().print(evaluation_report(ordered))
    if run.tells_phases:
        _tell(phases, json_lines)
    if any(trace.evaluation.status != "PASSED" for trace in ordered):
        raise typer.Exit(_console.ExitCode.NO)


def _tell(phases: Sequence[Phase], json_lines: bool) -> None:
    from solbench.cli._lines_phases import PhasesLine

    line = PhasesLine.of(phases)
    if json_lines:
        _console.emit(line)
        return
    for each in line.phases:
        _console.note(f"{each.began_s:7.2f} s {each.name:12}{each.seconds:7.2f} s")
