"""Records of commands that run the judge: ``admit``, ``attacks run``, ``compare``, ``replay``,
``eval --suite``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from solbench.cli._lines import Line
from solbench.cli._suite_outcomes import TierSum
from solbench.gate import OutputError
from solbench.judge import Admission, Comparison, Finding, Interval, Replay, Side
from solbench.judge.attacks import Finding as AttackFinding
from solbench.judge.attacks import Observation
from solbench.spec import Status


class AdmitLine(Line):
    """What was found about one workload of a problem."""

    problem: str
    workload: str
    passed: bool
    """No check failed; some may be open."""
    findings: tuple[Finding, ...]
    reference_error: Mapping[str, OutputError]
    """Output → error of the reference against float64."""

    @classmethod
    def of(cls, problem: str, admission: Admission) -> Self:
        return cls(
            problem=problem,
            workload=admission.workload,
            passed=admission.passed,
            findings=admission.findings,
            reference_error=dict(admission.errors),
        )


class CompareLine(Line):
    """Two solutions on one workload."""

    problem: str
    workload: str
    outcome: Literal["first", "second", "tie", "not_compared"]
    """Which is faster."""
    first: Side
    """Its times are in ms."""
    second: Side
    ratio: Interval | None
    """Second's latency over the first's, with its 95 % interval."""
    samples: int
    workers: int
    verified: bool
    """Neither time is in doubt."""

    @classmethod
    def of(cls, problem: str, comparison: Comparison) -> Self:
        return cls(
            problem=problem,
            workload=comparison.workload,
            outcome=comparison.outcome,
            first=comparison.first,
            second=comparison.second,
            ratio=comparison.ratio,
            samples=comparison.samples,
            workers=comparison.workers,
            verified=comparison.verified,
        )


class ReplayLine(Line):
    """One verdict, repeated."""

    definition: str
    solution: str
    workload: str
    earlier: Status
    """What the trace says."""
    status: Status
    same: bool
    differences: tuple[str, ...]

    @classmethod
    def of(cls, replay: Replay) -> Self:
        return cls(
            definition=replay.trace.definition,
            solution=replay.trace.solution,
            workload=replay.trace.workload.uuid,
            earlier=replay.earlier.evaluation.status,
            status=replay.trace.evaluation.status,
            same=replay.same,
            differences=replay.differences,
        )


class ObservationRecord(Line):
    """What the judge said about one submission."""

    status: str
    """Of the first workload that did not pass, else PASSED; ERROR if the judge refused."""
    flags: tuple[str, ...]
    median_ms: float | None
    ci_low_ms: float | None
    ci_high_ms: float | None
    verified: bool | None
    """Whether the time is verified; null without one."""

    @classmethod
    def of(cls, observation: Observation) -> Self:
        timing = observation.timing
        return cls(
            status=observation.status,
            flags=observation.flags,
            median_ms=timing.median_ms if timing else None,
            ci_low_ms=timing.ci_low_ms if timing else None,
            ci_high_ms=timing.ci_high_ms if timing else None,
            verified=timing.verified if timing else None,
        )


def _observed(observation: Observation | None) -> ObservationRecord | None:
    return None if observation is None else ObservationRecord.of(observation)


class AttackLine(Line):
    """What became of one attack."""

    name: str
    family: str
    kind: Literal["attack", "policy", "probabilistic"]
    """What a policy may allow, and what luck decides, is listed apart and counts no gain."""
    expected: tuple[str, ...]
    """Statuses that the case foresees."""
    stopped_by: str
    gain: str
    """Why it gained; empty if it did not."""
    attack: ObservationRecord
    twin: ObservationRecord | None
    """Its honest twin; null where it was not needed."""
    held_out: ObservationRecord | None
    """On inputs that it could not know; null where it was not needed."""
    gained: bool

    @classmethod
    def of(cls, finding: AttackFinding) -> Self:
        return cls(
            name=finding.name,
            family=finding.family,
            kind=finding.kind,
            expected=finding.expected,
            stopped_by=finding.stopped_by,
            gain=finding.gain,
            attack=ObservationRecord.of(finding.attack),
            twin=_observed(finding.twin),
            held_out=_observed(finding.held_out),
            gained=bool(finding.gain) and finding.kind == "attack",
        )


class ProblemOutcome(Line):
    """One problem judged."""

    passed: bool
    seconds: float
    """Wall time of this run."""


class SuiteRecord(Line):
    """Sums over the suite."""

    tiers: tuple[TierSum, ...]
    """The last is of all tiers together."""
    problems: Mapping[str, ProblemOutcome]


class SuiteLine(Line):
    """The last line of ``eval --suite``, after the traces."""

    suite: SuiteRecord
