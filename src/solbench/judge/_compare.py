"""Two solutions of one problem side by side: A B, B A, A B, … on one device and one clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from solbench.errors import ReferenceFailed
from solbench.judge._evaluate import EvaluationRun
from solbench.judge._measure import Bench
from solbench.judge._request import Case
from solbench.judge._samples import FEW, Series
from solbench.judge._statistics import Interval, StopRule, Stopwatch, median_interval
from solbench.judge._verdicts import Failure

Outcome = Literal["first", "second", "tie", "not_compared"]

TIE_SHARE = 0.01
TIE_MS = 1e-4
"""One per cent, or 100 ns for short calls: one kernel against itself in separate workers differs by as much."""
_TICK_MS = 1e-6


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two on one workload."""

    status: str
    reason: str = ""
    timing: Interval | None = None
    """Latency in ms, where both passed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of one workload."""

    workload: str
    outcome: Outcome
    """Which is faster."""
    first: Side
    second: Side
    ratio: Interval | None = None
    """Second's latency over the first's, median of neighbouring samples with its 95 % interval."""
    samples: int = 0
    verified: bool = False
    """Neither time is in doubt."""


def compare_runs(
    first: EvaluationRun, second: EvaluationRun, rule: StopRule, tell: Callable[[Comparison], None]
) -> None:
    """Compare workload by workload. Both runs are closed in the end."""
    try:
        first.open()
        second.open()
        for ours, theirs in zip(first.cases, second.cases, strict=True):
            tell(_compared(first, ours, second, theirs, rule))
    finally:
        first.close()
        second.close()


def _compared(
    first: EvaluationRun, ours: Case, second: EvaluationRun, theirs: Case, rule: StopRule
) -> Comparison:
    pairs = Pairs()
    benches = _bench(first, ours), _bench(second, theirs)
    if benches[0] is not None and benches[1] is not None:
        _interleave((benches[0], benches[1]), (ours, theirs), rule, pairs)
    for run, case in ((first, ours), (second, theirs)):
        run.rest(case)
    return comparison_of(ours, theirs, pairs.counted)


def _bench(run: EvaluationRun, case: Case) -> Bench | None:
    if case.failure is not None:
        return None
    return run.bench(case, [each.layout for each in run.cases if each.failure is None])


@dataclass(slots=True)
class Pairs:
    """Neighbouring samples of the two, in ms."""

    kept: list[float] = field(default_factory=list)
    """Second over first."""
    disturbed: list[float] = field(default_factory=list)
    """The same where something else had the processor during one of them."""

    def add(self, first: Series, second: Series) -> None:
        """The last sample of each. One that the floor swallows whole counts as a tick of the clock."""
        ours, theirs = (max(each.latest, _TICK_MS) for each in (first, second))
        quiet = not (first.latest_disturbed or second.latest_disturbed)
        (self.kept if quiet else self.disturbed).append(theirs / ours)

    @property
    def counted(self) -> list[float]:
        """Undisturbed ones, or all where those are too few."""
        return self.kept if len(self.kept) >= FEW else self.kept + self.disturbed


def _interleave(
    benches: tuple[Bench, Bench], cases: tuple[Case, Case], rule: StopRule, pairs: Pairs
) -> None:
    """Samples in turns until their ratio is known well enough, or one fails."""
    sides = list(zip(benches, cases, strict=True))
    watch = Stopwatch(benches[0].clock)
    batches: list[int] = []
    for bench, case in sides:
        with _alone(bench, benches), _blamed(case):
            batches.append(bench.warm_up(case.measurement))
        if case.failure is not None:
            return
    batch, turn = min(batches), 0
    while not _done(rule, pairs, turn, watch.elapsed_s):
        for bench, case in sides if turn % 2 == 0 else reversed(sides):
            with _alone(bench, benches), _blamed(case):
                bench.timed_round(case.measurement, batch, turn, False)
            if case.failure is not None:
                return
        turn += 1
        pairs.add(*(case.measurement.clocks.precise for case in cases))
    for bench, case in sides:
        bench.conclude(case.measurement, batch)


def _done(rule: StopRule, pairs: Pairs, turn: int, elapsed_s: float) -> bool:
    crowded = elapsed_s >= 2 * rule.seconds and turn >= rule.least
    return crowded or rule.out_of_patience(turn, elapsed_s) or rule.done(pairs.kept, elapsed_s)


@contextmanager
def _blamed(case: Case) -> Iterator[None]:
    """What goes wrong within is the case's failure."""
    try:
        yield
    except ReferenceFailed as error:
        case.failure = Failure("INVALID_REFERENCE", str(error), "compare")
    else:
        case.failure = case.measurement.failure


@contextmanager
def _alone(bench: Bench, benches: Sequence[Bench]) -> Iterator[None]:
    """The other worker is stopped meanwhile: on a GPU nothing else stops it."""
    others = [
        each.candidate.worker
        for each in benches
        if each is not bench and each.candidate.worker is not None and not each.device.interleaves
    ]
    for worker in others:
        worker.freeze()
    try:
        yield
    finally:
        for worker in others:
            worker.thaw()


def comparison_of(ours: Case, theirs: Case, known: Sequence[float]) -> Comparison:
    """Which is faster: the interval of the ratio has to be on one side of 1, and its median beyond noise."""
    failures = ours.failure, theirs.failure
    if any(failures) or not known:
        first, second = (_failed(failure) for failure in failures)
        return Comparison(ours.workload.uuid, "not_compared", first, second)
    ratio = median_interval(known)
    first, second = (
        Side("PASSED", timing=median_interval(case.measurement.candidate.counted))
        for case in (ours, theirs)
    )
    assert first.timing is not None
    return Comparison(
        workload=ours.workload.uuid,
        outcome=outcome_of(ratio, first.timing.median),
        first=first,
        second=second,
        ratio=ratio,
        samples=len(known),
        verified=not (ours.measurement.doubt or theirs.measurement.doubt),
    )


def outcome_of(ratio: Interval, first_ms: float) -> Outcome:
    """``tie`` unless the 95 % interval leaves out 1 and the difference is beyond what one kernel shows against
    itself."""
    noise = max(TIE_SHARE, TIE_MS / max(first_ms, _TICK_MS))
    if ratio.low <= 1.0 <= ratio.high or abs(ratio.median - 1.0) <= noise:
        return "tie"
    return "first" if ratio.median > 1.0 else "second"


def _failed(failure: Failure | None) -> Side:
    return Side("PASSED") if failure is None else Side(failure.status, failure.reason)
