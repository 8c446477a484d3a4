"""Aggregates over the traces of one solution on one problem."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    """Mean over workloads, a failed one counts 0; ``None`` where a passed one has no score."""
    withheld: bool
    """A workload was faster than its bound, so the score is withheld until reviewed."""
    baseline: str


def distance(trace: Trace) -> float | None:
    """Measured time over T_SOL."""
    record = trace.solbench
    if record is None or record.timing is None or not record.t_sol_ms:
        return None
    return record.timing.median_ms / record.t_sol_ms


def geometric_mean(values: Iterable[float]) -> float | None:
    """``None`` of nothing; values must be positive."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


def summarise(traces: Sequence[Trace]) -> Summary:
    """Aggregates of one solution's traces on one problem (FORMATS: a failed workload counts 0)."""
    passed = [trace for trace in traces if trace.evaluation.status == "PASSED"]
    speedups = [t.evaluation.performance.speedup_factor for t in passed if t.evaluation.performance]
    baselines = {t.solbench.baseline for t in traces if t.solbench and t.solbench.baseline}
    return Summary(
        definition=traces[0].definition,
        solution=traces[0].solution,
        workloads=len(traces),
        passed=len(passed),
        speedup=geometric_mean(speedups),
        distance=geometric_mean(d for d in map(distance, passed) if d is not None),
        score=_problem_score(traces),
        withheld=any(_has_flag(trace, "faster_than_bound") for trace in traces),
        baseline=", ".join(sorted(baselines)),
    )


def _problem_score(traces: Sequence[Trace]) -> float | None:
    total = 0.0
    for trace in traces:
        if trace.evaluation.status != "PASSED":
            continue
        if trace.solbench is None or trace.solbench.score is None:
            return None
        total += trace.solbench.score
    return total / len(traces)


def _has_flag(trace: Trace, flag_id: str) -> bool:
    return trace.solbench is not None and any(f.id == flag_id for f in trace.solbench.flags)


def by_solution(traces: Iterable[Trace]) -> dict[tuple[str, str], list[Trace]]:
    """Group by (definition, solution); the last trace of a workload counts, as files are append-only."""
    groups: dict[tuple[str, str], dict[str, Trace]] = defaultdict(dict)
    for trace in traces:
        groups[trace.definition, trace.solution][trace.workload.uuid] = trace
    return {key: list(workloads.values()) for key, workloads in groups.items()}
