"""``solbench eval --suite``: every problem of the bundled suite in one go, by one warm judge."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from solbench.cli import _console
from solbench.cli._held_out import with_held_out
from solbench.cli._problems import SUITE_PREFIX, chosen_names
from solbench.cli._recording import Keep, opened_last, recording
from solbench.cli._records import Conditions, finished_among, read_finished
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.cli._held_out import HeldOut
    from solbench.judge import Judge, Options
    from solbench.spec import Problem, Solution, Trace


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """What ``eval --suite`` was asked for."""

    pattern: str
    """Names, as a shell would match them; ``*`` for all."""
    solutions: Path | None
    """Folder with ``NAME.json``, ``NAME/solution.json`` or loose sources in ``NAME/``; ``None``: the
    references themselves."""
    full: bool
    """Full workloads in place of smoke ones."""
    held_out: int
    """Workloads of secret sizes to add to each problem."""


@dataclass(frozen=True, slots=True)
class Task:
    """One problem to be judged."""

    name: str
    tier: str
    problem: Problem
    solution: Solution
    held_out: HeldOut | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One problem judged."""

    name: str
    tier: str
    traces: tuple[Trace, ...]
    seconds: float
    """Wall time of this run; what an earlier run judged took none."""

    @property
    def passed(self) -> bool:
        return all(trace.evaluation.status == "PASSED" for trace in self.traces)


def evaluate_suite(
    request: SuiteRequest,
    conditions: Conditions,
    options: Options,
    *,
    out: Path | None,
    resume: bool,
    json_lines: bool,
) -> None:
    """Judge all problems that the request names; exit code 1 unless every workload passed."""
    from solbench.cli._suite_outcomes import outcome_line, outcome_report

    tasks = tuple(_tasks(request))
    earlier = read_finished(out) if resume and out else ()
    outcomes: list[Outcome] = []
    with ExitStack() as stack:
        keep = stack.enter_context(recording(out, json_lines))
        bar = stack.enter_context(_console.progress("evaluating the suite", len(tasks)))
        judge = stack.enter_context(_WarmJudge(conditions, options))
        for task in tasks:
            done = finished_among(earlier, out, task.problem, task.solution, conditions)
            outcomes.append(_judged(task, done, judge, keep))
            bar.advance(task.name)
    if json_lines:
        _console.emit(outcome_line(outcomes))
    else:
        _console.out().print(outcome_report(outcomes))
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(_console.ExitCode.NO)


class _WarmJudge(AbstractContextManager["_WarmJudge"]):
    """One judge for all problems, started by the first that has something to be judged."""

    def __init__(self, conditions: Conditions, options: Options) -> None:
        self._conditions = conditions
        self._options = options
        self._judge: Judge | None = None

    def __exit__(self, *exception: object) -> None:
        if self._judge is not None:
            self._judge.close()

    def evaluate(self, task: Task, workloads: Sequence[str], keep: Keep) -> None:
        if self._judge is None:
            from solbench.judge import Judge

            asked = self._conditions
            self._judge = Judge(asked.device, hot=asked.hot, rules=asked.rules)
        self._judge.evaluate(
            task.problem, task.solution, workloads=workloads, on_trace=keep, **self._options
        )


def _judged(task: Task, done: Mapping[str, Trace], judge: _WarmJudge, keep: Keep) -> Outcome:
    traces = dict(done)

    def remember(trace: Trace) -> None:
        traces[trace.workload.uuid] = trace
        keep(trace)

    missing = [each.uuid for each in task.problem.workloads if each.uuid not in done]
    started = time.perf_counter()
    if missing:
        with opened_last(remember, task.held_out) as signed:
            judge.evaluate(task, missing, signed)
    seconds = time.perf_counter() - started
    ordered = tuple(traces[each.uuid] for each in task.problem.workloads)
    return Outcome(task.name, task.tier, ordered, seconds)


def _tasks(request: SuiteRequest) -> Iterator[Task]:
    """All of them before the first is judged: what is wrong with a solution's file is told at once."""
    from solbench.suite import catalogue, load

    found = 0
    for name in chosen_names(request.pattern):
        problem = load(name, smoke=not request.full)
        solution = _solution(problem, request.solutions)
        if solution is None:
            continue
        found += 1
        extra = None
        if request.held_out:
            problem, extra = with_held_out(problem, request.held_out, smoke=not request.full)
        yield Task(name, catalogue()[name].problem.tier, problem, solution, extra)
    if not found:
        raise InputError(
            f"holds no solution of the problems '{request.pattern or SUITE_PREFIX}'",
            file=request.solutions,
            remedy="Name files NAME.json, or folders NAME with solution.json or sources.",
        )


def _solution(problem: Problem, folder: Path | None) -> Solution | None:
    """The problem's solution in the folder, ``None`` if it has none there; the reference without a folder."""
    from solbench.cli._options import read_solution

    if folder is None:
        return read_solution(problem, None)
    places = (f"{problem.name}.json", f"{problem.name}/solution.json", problem.name)
    for place in places:
        if (folder / place).exists():
            return read_solution(problem, folder / place)
    return None
