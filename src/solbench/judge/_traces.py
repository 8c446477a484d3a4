"""Writing down a verdict: the official trace with our record."""

from __future__ import annotations

import math
import statistics
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from solbench.gate import GateResult
from solbench.jail import Walls
from solbench.judge._bounds import BoundOrNote
from solbench.judge._device import Advice
from solbench.judge._measurement import Measurement
from solbench.judge._samples import Series
from solbench.judge._statistics import median_interval, quantile
from solbench.judge._verdicts import Failure
from solbench.judge.admission import Admission
from solbench.judge.guard import Finding
from solbench.score import ScoreResult, failed, sol_score, undecidable
from solbench.spec import (
    Correctness,
    Environment,
    Evaluation,
    Flag,
    GuardFinding,
    Performance,
    SolBenchRecord,
    Timing,
    Trace,
    Workload,
)

_CLOCK_TICK_MS = 1e-6
_OBEYED = frozenset({"Cc", "Cf", "Cs"})
"""Unicode's control, format and surrogate characters."""
PROVISIONAL_BASELINE = "provisional: reference"


@dataclass(frozen=True, slots=True)
class WorkloadResult:
    """All that is known about one workload when its verdict falls."""

    problem_name: str
    solution_name: str
    workload: Workload
    failure: Failure | None
    measurement: Measurement | None
    bound: BoundOrNote
    walls: Walls
    flags: tuple[Flag, ...]
    digests: dict[str, str]
    log: str
    clock: str
    verified: bool
    hot: bool
    mode: str
    device: str
    admission: Admission | None
    findings: tuple[Finding, ...] = ()
    """Of the static rules."""


def score_of(result: WorkloadResult) -> ScoreResult:
    """The workload's score with the reference's own time as the provisional baseline."""
    if result.failure is not None:
        return failed(f"{result.failure.status}: {result.failure.reason}")
    measured = result.measurement
    if result.bound.t_sol_ms is None:
        return ScoreResult(None, result.bound.note or "no bound", "no_bound")
    if measured is None or not measured.candidate or not measured.reference:
        return ScoreResult(None, "no score: the reference could not be timed", "no_bound")
    latency_ms = median_interval(measured.candidate.counted).median
    if latency_ms < result.bound.t_sol_ms <= latency_ms + measured.resolution_ms:
        note = (
            f"no score: {latency_ms:.3g} ms is below T_SOL = {result.bound.t_sol_ms:.3g} ms by less than "
            f"the clock's own spread of {measured.resolution_ms:.3g} ms"
        )
        return ScoreResult(None, note, "no_bound")
    return sol_score(
        latency_ms,
        median_interval(measured.reference.counted).median,
        result.bound.t_sol_ms,
        result.bound.t_floor_ms,
    )


def make_trace(result: WorkloadResult, score: ScoreResult, environment: Environment) -> Trace:
    """The trace of one workload; every key is filled whatever the verdict."""
    failure = result.failure
    return Trace(
        definition=result.problem_name,
        solution=result.solution_name,
        workload=result.workload,
        evaluation=Evaluation(
            status=failure.status if failure else "PASSED",
            log=_log(result),
            correctness=_correctness(_gate(result)),
            performance=None if failure else _performance(result.measurement),
            environment=environment,
            timestamp=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ),
        solbench=_record(result, score),
    )


def _record(result: WorkloadResult, score: ScoreResult) -> SolBenchRecord:
    failure, measured, bound = result.failure, result.measurement, result.bound.bound
    return SolBenchRecord(
        t_sol_ms=bound.t_sol_ms if bound else None,
        t_attainable_ms=bound.t_attainable_ms if bound else None,
        t_floor_ms=bound.t_floor_ms if bound else None,
        binding=bound.binding if bound else None,
        score=score.score,
        score_note=score.note,
        baseline=PROVISIONAL_BASELINE,
        flags=(*result.flags, *_score_flags(result, score)),
        timing=_timing(result, measured.candidate) if measured and not failure else None,
        reference_timing=_timing(result, measured.reference) if measured else None,
        digests=result.digests,
        jail=jail_record(result.walls),
        bound=result.bound.record(),
        readings=_extent(measured.readings) if measured else None,
        failure=_where(_gate(result)) if failure else None,
        advice=_advice(measured.advice) if measured else None,
        precision=_precision(result),
        admission=_admission(result.admission),
        findings=_findings(result.findings),
        mode=result.mode,
        device=result.device,
        calls=measured.calls if measured else 0,
        phase=failure.phase if failure else "run",
        version=solbench_version(),
    )


def _findings(findings: Sequence[Finding]) -> tuple[GuardFinding, ...]:
    return tuple(
        GuardFinding(
            rule=each.rule,
            severity=each.severity,
            file=printable(each.file),
            line=each.line,
            message=printable(each.message),
            excerpt=printable(each.excerpt),
        )
        for each in findings
    )


def _precision(result: WorkloadResult) -> dict[str, Any] | None:
    if result.measurement is None or result.admission is None:
        return None
    return result.measurement.precision.record(result.admission.lower)


def _admission(admission: Admission | None) -> dict[str, Any] | None:
    if admission is None:
        return None
    checks = {
        each.check: {"outcome": each.outcome, "detail": each.detail} for each in admission.findings
    }
    return {"passed": admission.passed, "checks": checks}


def _extent(readings: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]] | None:
    """Least, median and greatest of each reading; ``None`` where the device tells nothing."""
    names = {name for reading in readings for name in reading}
    return {
        name: {"min": min(values), "median": statistics.median(values), "max": max(values)}
        for name in sorted(names)
        if (values := [reading[name] for reading in readings if name in reading])
    } or None


def jail_record(walls: Walls) -> dict[str, Any]:
    """Layer → true, or why it does not stand."""
    layers: dict[str, Any] = {name: why or True for name, why in walls.layers.items()}
    return {**layers, "sealed": walls.sealed}


def _score_flags(result: WorkloadResult, score: ScoreResult) -> Sequence[Flag]:
    flags = []
    if score.kind in ("faster_than_bound", "write_absorbed", "saturated"):
        flags.append(Flag(id=score.kind, evidence=score.note))
    measured, t_sol_ms = result.measurement, result.bound.t_sol_ms
    if score.kind == "scored" and measured is not None and t_sol_ms is not None:
        interval = median_interval(measured.candidate.counted)
        baseline_ms = median_interval(measured.reference.counted).median
        if undecidable(interval.low, interval.high, baseline_ms, t_sol_ms):
            evidence = (
                f"the 95% interval of {interval.high - interval.low:.3g} ms is wide beside "
                f"the headroom of {baseline_ms - t_sol_ms:.3g} ms"
            )
            flags.append(Flag(id="undecidable", evidence=evidence))
    return flags


def _gate(result: WorkloadResult) -> GateResult | None:
    if result.failure is not None:
        return result.failure.gate
    return result.measurement.gate if result.measurement is not None else None


def _correctness(gate: GateResult | None) -> Correctness | None:
    if gate is None or gate.status not in ("PASSED", "INCORRECT_NUMERICAL"):
        return None
    return Correctness(
        max_relative_error=_finite(gate.max_relative_error),
        max_absolute_error=_finite(gate.max_absolute_error),
        has_nan=gate.has_nan,
        has_inf=gate.has_inf,
    )


def _performance(measured: Measurement | None) -> Performance | None:
    if measured is None or not measured.candidate:
        return None
    latency_ms = median_interval(measured.candidate.counted).median
    reference_ms = measured.fallback_reference_ms
    if measured.reference:
        reference_ms = median_interval(measured.reference.counted).median
    # A time of zero is one that the timer floor covers whole: the floor is then the honest divisor.
    divisor = latency_ms or measured.floor_ms or _CLOCK_TICK_MS
    return Performance(
        latency_ms=latency_ms,
        reference_latency_ms=reference_ms,
        speedup_factor=reference_ms / divisor,
    )


def _timing(result: WorkloadResult, series: Series) -> Timing | None:
    samples = series.counted
    if not samples:
        return None
    interval = median_interval(samples)
    return Timing(
        median_ms=interval.median,
        ci_low_ms=interval.low,
        ci_high_ms=interval.high,
        samples=tuple(samples),
        p5_ms=quantile(samples, 0.05),
        p95_ms=quantile(samples, 0.95),
        dropped=series.dropped,
        clock=result.clock,
        verified=result.verified,
        cache="hot" if result.hot else "cold",
        timer_floor_ms=result.measurement.floor_ms if result.measurement else 0.0,
    )


def _where(gate: GateResult | None) -> dict[str, Any] | None:
    """The failure report: output, first differing index, expected, got, share off, worst errors."""
    if gate is None:
        return None
    first = gate.first
    return {
        "output": gate.output,
        "reason": gate.reason,
        "index": list(first.index) if first else None,
        "expected": _number(first.expected) if first else None,
        "got": _number(first.got) if first else None,
        "share_off": gate.share_off,
        "max_absolute_error": _finite(gate.max_absolute_error),
        "max_relative_error": _finite(gate.max_relative_error),
    }


def _advice(advice: Advice | None) -> dict[str, Any] | None:
    if advice is None:
        return None
    return {
        "kernels": advice.kernels,
        "busy_ms": advice.busy_ms,
        "log": printable(advice.log),
    }


def _log(result: WorkloadResult) -> str:
    if result.failure is None:
        return printable(result.log)
    return printable(f"{result.failure.reason}\n{result.log}".rstrip())


def printable(text: str) -> str:
    """Text of a submission without what a terminal would obey: escapes, and marks that turn the direction of
    writing round. Lines and tabs stay."""
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in _OBEYED
        else "\N{REPLACEMENT CHARACTER}"
        for char in text
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float) -> float | str:
    """Strict JSON has no NaN: its name then."""
    return value if math.isfinite(value) else str(value)


def solbench_version() -> str:
    """Version of the installed package."""
    try:
        return version("solbench")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "unknown"
