"""What ``eval --suite`` shows of the problems that it judged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from solbench.report import grid

if TYPE_CHECKING:
    from solbench.cli._eval_suite import Outcome
    from solbench.cli._lines_judge import SuiteLine
    from solbench.spec import Trace

_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class TierSum:
    """One line of the table."""

    tier: str
    problems: int
    passed: int
    workloads: int
    workloads_passed: int
    score: float | None
    """Median over the workloads that have one."""
    seconds: float


def tier_sums(outcomes: Sequence[Outcome]) -> tuple[TierSum, ...]:
    """The tiers that occur, in order, and all of them together."""
    tiers = {outcome.tier: None for outcome in outcomes}
    lines = [_sum(tier, [each for each in outcomes if each.tier == tier]) for tier in tiers]
    return (*lines, _sum("all", outcomes))


def _sum(tier: str, outcomes: Sequence[Outcome]) -> TierSum:
    traces = [trace for outcome in outcomes for trace in outcome.traces]
    scores = [score for trace in traces if (score := _score(trace)) is not None]
    return TierSum(
        tier=tier,
        problems=len(outcomes),
        passed=sum(outcome.passed for outcome in outcomes),
        workloads=len(traces),
        workloads_passed=sum(trace.evaluation.status == "PASSED" for trace in traces),
        score=median(scores) if scores else None,
        seconds=sum(outcome.seconds for outcome in outcomes),
    )


def _score(trace: Trace) -> float | None:
    return trace.solbench.score if trace.solbench else None


def outcome_report(outcomes: Sequence[Outcome]) -> RenderableType:
    """A line a tier; below it, what did not pass and why."""
    numbers = ("problems passed", "workloads passed", "median score", "seconds")
    table = grid("tier", *numbers, numbers=numbers)
    for line in tier_sums(outcomes):
        table.add_row(
            line.tier,
            f"{line.passed} of {line.problems}",
            f"{line.workloads_passed} of {line.workloads}",
            "none" if line.score is None else f"{line.score:.3f}",
            f"{line.seconds:.1f}",
            end_section=line.tier == tier_sums(outcomes)[-2].tier,
        )
    failures = [Text(line) for outcome in outcomes for line in _failures(outcome)]
    signals = [Text(line, style="yellow") for line in signal_lines(outcomes)]
    return Group(table, *failures, *signals)


def signal_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """Flags, and what the guard saw beyond notes: each with the problems that have it."""
    where: dict[str, dict[str, None]] = defaultdict(dict)
    for outcome in outcomes:
        for record in (trace.solbench for trace in outcome.traces):
            for flag in record.flags if record else ():
                where[f"flag {flag.id}"][outcome.name] = None
            for finding in record.findings if record else ():
                if finding.severity != "note":
                    where[f"guard {finding.severity} {finding.rule}"][outcome.name] = None
    return [f"{signal}: {_listed([*names])}" for signal, names in sorted(where.items())]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown} and {more} more" if more > 0 else shown


def _failures(outcome: Outcome) -> Iterator[str]:
    for trace in outcome.traces:
        if trace.evaluation.status != "PASSED":
            why = trace.solbench.score_note if trace.solbench else ""
            sizes = ", ".join(f"{axis} {size}" for axis, size in trace.workload.axes.items())
            yield f"{outcome.name} ({sizes}): {trace.evaluation.status} {why}".rstrip()


def outcome_line(outcomes: Sequence[Outcome]) -> SuiteLine:
    """The last JSON line: sums by tier, and seconds a problem."""
    from solbench.cli._lines_judge import ProblemOutcome, SuiteLine, SuiteRecord

    problems = {
        outcome.name: ProblemOutcome(passed=outcome.passed, seconds=round(outcome.seconds, 3))
        for outcome in outcomes
    }
    return SuiteLine(suite=SuiteRecord(tiers=tier_sums(outcomes), problems=problems))
