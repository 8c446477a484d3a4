"""Aggregates over the traces of one solution on one problem."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from solbench.score import ScoreResult, failed, geometric_mean, problem_score
from solbench.spec import Trace


@dataclass(frozen=True, slots=True)
class Summary:
    definition: str
    solution: str
    workloads: int
    passed: int
    speedup: float | None
    """Geometric mean over the passed workloads of reference time / own time."""
    distance: float | None
    """Geometric mean of time / T_SOL over those with both."""
    score: float | None
    """See ``solbench.score.problem_score``."""
    score_note: str
    withheld: bool
    """A workload was faster than its bound, so the score is withheld until reviewed."""
    baseline: str


def distance(trace: Trace) -> float | None:
    """Measured time over T_SOL; ``None`` also for a time that the timer floor covers."""
    record = trace.solbench
    if record is None or record.timing is None or not record.t_sol_ms:
        return None
    if record.timing.median_ms <= 0:
        return None
    return record.timing.median_ms / record.t_sol_ms


def _speedup(trace: Trace) -> float | None:
    """Reference time over own time; ``None`` where the timer floor covers the reference."""
    performance = trace.evaluation.performance
    return (performance.speedup_factor or None) if performance else None


def summarise(traces: Sequence[Trace]) -> Summary:
    """Aggregates of one solution's traces on one problem (FORMATS: a failed workload counts 0)."""
    passed = [trace for trace in traces if trace.evaluation.status == "PASSED"]
    speedups = [speedup for trace in passed if (speedup := _speedup(trace)) is not None]
    baselines = {t.solbench.baseline for t in traces if t.solbench and t.solbench.baseline}
    score = problem_score([_score_result(trace) for trace in traces])
    return Summary(
        definition=traces[0].definition,
        solution=traces[0].solution,
        workloads=len(traces),
        passed=len(passed),
        speedup=_mean(speedups),
        distance=_mean([d for d in map(distance, passed) if d is not None]),
        score=score.score,
        score_note=score.note,
        withheld=score.withheld,
        baseline=", ".join(sorted(baselines)),
    )


def _mean(values: Sequence[float]) -> float | None:
    """Geometric mean, or ``None`` where nothing was measured."""
    return geometric_mean(values) if values else None


def _score_result(trace: Trace) -> ScoreResult:
    """The trace's score in the terms of ``solbench.score``."""
    record = trace.solbench
    if trace.evaluation.status != "PASSED":
        return failed(trace.evaluation.status)
    if record is None or record.t_sol_ms is None:
        return ScoreResult(None, "the bound is not complete", "no_bound")
    if record.score is not None:
        return ScoreResult(record.score, record.score_note, "scored")
    faster = any(flag.id == "faster_than_bound" for flag in record.flags)
    return ScoreResult(None, record.score_note, "faster_than_bound" if faster else "saturated")


def by_solution(traces: Iterable[Trace]) -> dict[tuple[str, str], list[Trace]]:
    """Group by (definition, solution); the last trace of a workload counts, as files are append-only."""
    groups: dict[tuple[str, str], dict[str, Trace]] = defaultdict(dict)
    for trace in traces:
        groups[trace.definition, trace.solution][trace.workload.uuid] = trace
    return {key: list(workloads.values()) for key, workloads in groups.items()}
