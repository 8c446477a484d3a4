"""Two solutions of one problem side by side: A B, B A, A B, … on one device and one clock."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

from solbench.errors import ReferenceFailed
from solbench.judge._evaluate import EvaluationRun
from solbench.judge._measure import Bench
from solbench.judge._request import Case
from solbench.judge._samples import FEW, Series
from solbench.judge._statistics import Budget, Interval, StopRule, Stopwatch, median_interval
from solbench.judge._verdicts import Failure

Outcome = Literal["first", "second", "tie", "not_compared"]

TIE_SHARE = 0.01
TIE_MS = 1e-4
"""One per cent, or 100 ns for short calls: one kernel against itself in separate workers differs by as much."""
_TICK_MS = 1e-6
LEAST_PAIRS = 6
"""The fewest whose order statistics give a 95 % interval."""


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
    """Second's latency over the first's with its 95 % interval: of neighbouring samples, the median of each
    pair of workers and of those the median."""
    samples: int = 0
    workers: int = 0
    """Pairs of workers that took part."""
    verified: bool = False
    """Neither time is in doubt."""


def compare_runs(
    first: EvaluationRun, second: EvaluationRun, budget: Budget, tell: Callable[[Comparison], None]
) -> None:
    """Compare every workload on one pair of workers after another: the same kernel differs more from worker to
    worker than from sample to sample. Both runs are closed in the end."""
    try:
        first.open()
        second.open()
        matches = [
            Match(ours, theirs) for ours, theirs in zip(first.cases, second.cases, strict=True)
        ]
        number = 1
        while number == 1 or number <= _worker_pairs(first, second, budget):
            _one_pass(first, second, matches, _rule(budget, number), tell)
            number += 1
        for match in matches:
            match.tell_once(tell)
    finally:
        first.close()
        second.close()


def _worker_pairs(first: EvaluationRun, second: EvaluationRun, budget: Budget) -> int:
    """As many as give the median of their medians a 95 % interval, if they cost little."""
    if first.starts_quickly and second.starts_quickly:
        return max(LEAST_PAIRS, budget.workers + budget.more_workers)
    return budget.workers


def _rule(budget: Budget, number: int) -> StopRule:
    """The first workers may be the only ones; the others share the time that an evaluation would take."""
    if number == 1:
        return budget.rule
    workers = budget.workers + budget.more_workers
    rule = budget.rule
    return replace(
        rule,
        seconds=rule.seconds * min(1.0, workers / LEAST_PAIRS),
        minimum=min(rule.minimum, FEW),
        least=rule.few,
    )


def _one_pass(
    first: EvaluationRun,
    second: EvaluationRun,
    matches: Sequence[Match],
    rule: StopRule,
    tell: Callable[[Comparison], None],
) -> None:
    """Every workload that has not failed, on one worker a side."""
    for match in matches:
        if match.failed:
            match.tell_once(tell)
            continue
        pairs = Pairs()
        benches = _bench(first, match.first), _bench(second, match.second)
        if benches[0] is not None and benches[1] is not None:
            _interleave((benches[0], benches[1]), (match.first, match.second), rule, pairs)
        match.by_workers.append(pairs)
        for run, case in ((first, match.first), (second, match.second)):
            run.rest(case)
    for run in (first, second):
        run.end_worker()


def _bench(run: EvaluationRun, case: Case) -> Bench | None:
    if case.failure is not None:
        return None
    return run.bench(case, [each.layout for each in run.cases if each.failure is None])


@dataclass(slots=True)
class Match:
    """One workload of both, on its way to a comparison."""

    first: Case
    second: Case
    by_workers: list[Pairs] = field(default_factory=list)
    """One entry a pair of workers."""
    told: bool = False

    @property
    def failed(self) -> bool:
        return self.first.failure is not None or self.second.failure is not None

    def tell_once(self, tell: Callable[[Comparison], None]) -> None:
        """Give the comparison to the listener, unless it was."""
        if not self.told:
            self.told = True
            tell(comparison_of(self.first, self.second, self.by_workers))


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
        case.measurement.clocks.next_worker()
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


def comparison_of(ours: Case, theirs: Case, by_workers: Sequence[Pairs]) -> Comparison:
    """Which is faster: the interval of the ratio has to be on one side of 1, and its median beyond noise."""
    failures = ours.failure, theirs.failure
    known = [pairs.counted for pairs in by_workers if pairs.counted]
    if any(failures) or not known:
        first, second = (_failed(failure) for failure in failures)
        return Comparison(ours.workload.uuid, "not_compared", first, second)
    ratio = ratio_of(known)
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
        samples=sum(len(each) for each in known),
        workers=len(known),
        verified=not (ours.measurement.doubt or theirs.measurement.doubt),
    )


def ratio_of(by_workers: Sequence[Sequence[float]]) -> Interval:
    """Median and interval over pairs of workers; over samples where the pairs are too few for an interval.

    ``by_workers``: ratios of neighbouring samples, one entry a pair of workers.
    """
    if len(by_workers) >= LEAST_PAIRS:
        return median_interval([statistics.median(each) for each in by_workers])
    return median_interval([ratio for each in by_workers for ratio in each])


def outcome_of(ratio: Interval, first_ms: float) -> Outcome:
    """``tie`` unless the 95 % interval leaves out 1 and the difference is beyond what one kernel shows against
    itself."""
    noise = max(TIE_SHARE, TIE_MS / max(first_ms, _TICK_MS))
    if ratio.low <= 1.0 <= ratio.high or abs(ratio.median - 1.0) <= noise:
        return "tie"
    return "first" if ratio.median > 1.0 else "second"


def _failed(failure: Failure | None) -> Side:
    return Side("PASSED") if failure is None else Side(failure.status, failure.reason)
