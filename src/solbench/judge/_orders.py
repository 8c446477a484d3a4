"""One evaluation as it is asked for, and the verdicts that come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from solbench.errors import InputError
from solbench.judge._phases import Phase
from solbench.judge._results import EvaluationResult, Options
from solbench.judge._sections import Section
from solbench.score import ScoreResult, problem_score
from solbench.spec import Problem, Solution, Trace, Workload


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a workload is not tried again."""

    section: Section
    reason: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """The seeds of an earlier evaluation of a workload."""

    secret: bytes = field(repr=False)
    calls: int
    """As many were made, and are made again at least."""


@dataclass(frozen=True, slots=True)
class Order:
    """One evaluation, as it is sent."""

    problem: Problem
    solution: Solution
    workloads: tuple[str, ...]
    options: Options
    faults: Mapping[str, Fault] = field(default_factory=dict)
    """Workload → why its problem's code is not run again."""
    replays: Mapping[str, Replayed] = field(default_factory=dict)
    """Workload → the seeds that it has, where they are not drawn anew."""


@dataclass(frozen=True, slots=True)
class AdmissionOrder:
    """The admission of some workloads."""

    problem: Problem
    workloads: tuple[str, ...]
    faults: Mapping[str, Fault] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparisonOrder:
    """Two solutions, side by side."""

    problem: Problem
    first: Solution
    second: Solution
    workloads: tuple[str, ...]
    options: Options
    faults: Mapping[str, Fault] = field(default_factory=dict)


AnyOrder = Order | AdmissionOrder | ComparisonOrder


@dataclass(frozen=True, slots=True)
class Verdict:
    """One workload's, as it is sent back."""

    trace: Trace
    score: ScoreResult | None


def result_of(
    workloads: Sequence[Workload], verdicts: Sequence[Verdict], phases: tuple[Phase, ...] = ()
) -> EvaluationResult:
    """The verdicts in the problem's order, and their score."""
    by_uuid = {each.trace.workload.uuid: each for each in verdicts}
    ordered = [by_uuid[each.uuid] for each in workloads]
    scores = [each.score for each in ordered if each.score is not None]
    return EvaluationResult(tuple(each.trace for each in ordered), problem_score(scores), phases)


def chosen_workloads(problem: Problem, uuids: Sequence[str] | None) -> tuple[Workload, ...]:
    """The workloads of these uuids; all for ``None``. Raises ``InputError`` for none and for unknown ones."""
    if uuids is None:
        return problem.workloads
    if isinstance(uuids, str) or not uuids:
        # An evaluation of nothing would pass.
        raise InputError("is not a list of uuids", key="workloads", remedy="Give one at least.")
    return tuple(problem.workload(uuid) for uuid in uuids)


def require_kind(key: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise InputError(
            f"a {kind.__name__} is wanted, not a {type(value).__name__}",
            key=key,
            remedy=f"Load it with solbench.load_{key}(path).",
        )
