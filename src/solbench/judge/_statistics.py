"""Medians with intervals, and when to stop measuring. Plain floats; no clock and no device.

The interval of the median comes from order statistics: the number of samples below the true median
is binomial with p = 1/2, so ``[x_(l), x_(u)]`` covers it with a probability that is a sum of
binomial terms, whatever the distribution (H. A. David and H. N. Nagaraja, *Order Statistics*, 3rd
ed., section 7.1).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
SURE_AUDITS = 3
"""So many calls are compared with float64 whatever it costs: the first, and two of the next seven."""
AUDIT_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and the interval that covers the true one; units are those of the samples."""

    median: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return max(self.median - self.low, self.high - self.median)


def median_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The sample median and its interval. Raises ``ValueError`` for no samples.

    Below six samples no pair of order statistics reaches 95 %: the extremes are returned.
    """
    if not samples:
        raise ValueError("the median of no samples")
    ordered = sorted(samples)
    rank = _lower_rank(len(ordered), confidence)
    return Interval(statistics.median(ordered), ordered[rank], ordered[-1 - rank])


def quantile(samples: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics, ``share`` in [0, 1]."""
    ordered = sorted(samples)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def _lower_rank(count: int, confidence: float) -> int:
    """Largest zero-based rank r with P(r < B < count - r) ≥ confidence, B binomial(count, 1/2)."""
    tail, allowed = 0.0, (1.0 - confidence) / 2
    rank = -1
    for successes in range(count // 2):
        tail += math.comb(count, successes) / 2**count
        if tail > allowed:
            break
        rank = successes
    return max(rank, 0)


@dataclass(frozen=True, slots=True)
class StopRule:
    """Measure until the median is known well enough, within bounds that do not depend on the
    candidate.

    Satisfied after ``minimum`` samples once the 95 % interval is within ``relative`` of the median
    or ``absolute`` either side. Time runs out only after ``least`` samples, or ``few`` if
    ``patience`` times the time is gone; ``maximum`` ends it in any case.
    """

    minimum: int = 30
    least: int = 10
    maximum: int = 200
    relative: float = 0.005
    absolute: float = 25e-6
    """In the unit of the samples: 25 ns in ms."""
    seconds: float = 1.0
    few: int = 3
    patience: float = 4.0

    def precise(self, samples: Sequence[float]) -> bool:
        """Whether the samples are enough."""
        if len(samples) < self.minimum:
            return False
        interval = median_interval(samples)
        return interval.half_width <= max(self.relative * interval.median, self.absolute)

    def done(self, samples: Sequence[float], elapsed_s: float) -> bool:
        """Whether to stop now."""
        if len(samples) >= self.maximum:
            return True
        if elapsed_s >= self.seconds and len(samples) >= self.least:
            return True
        return self.out_of_patience(len(samples), elapsed_s) or self.precise(samples)

    def out_of_patience(self, count: int, elapsed_s: float) -> bool:
        """Whether so much time is gone that a few samples must do."""
        return elapsed_s >= self.patience * self.seconds and count >= self.few


@dataclass(frozen=True, slots=True)
class Budget:
    """How long an evaluation measures each workload."""

    rule: StopRule
    reference_rule: StopRule
    """When the reference's time is known well enough; it goes on now and then, to show drift."""
    workers: int = 1
    """Fresh workers, one after another, each under the whole rule."""
    more_workers: int = 0
    """Further ones where a worker starts quickly; where it does not, each of the others measures longer."""
    sure_audits: int = SURE_AUDITS
    """Calls that are compared with float64 whatever it costs."""
    audit_seconds: float = AUDIT_SECONDS
    """What further such calls may take together."""
    comparison_seconds: float = math.inf
    """What the reference may take to compare the outputs of one sample, where runs can be made shorter."""
    longest_run: int = 1 << 10
    """Calls of one run."""


# ``reward`` answers within a second or two a workload; ``rank`` spends its time on three workers.
BUDGETS: dict[str, Budget] = {
    "reward": Budget(
        StopRule(seconds=0.8), StopRule(minimum=10, least=10, relative=0.01, maximum=50)
    ),
    "rank": Budget(StopRule(least=30, seconds=2.0), StopRule(least=30, seconds=6.0), workers=3),
}

# The drain clock spreads by 0.2 us and less from sample to sample: in `reward` a few samples, each of dozens
# of checked calls, give a median within a percent or two. From worker to worker the same kernel of a few
# microseconds differs by up to 4 %: in `rank` a dozen of them take part.
GPU_BUDGETS: dict[str, Budget] = {
    "reward": Budget(
        StopRule(minimum=6, least=6, maximum=40, relative=0.02, absolute=150e-6, seconds=0.08),
        StopRule(minimum=10, least=10, maximum=40, relative=0.01, absolute=50e-6, seconds=0.5),
        sure_audits=2,
        audit_seconds=0.03,
        comparison_seconds=0.02,
        longest_run=24,
    ),
    "rank": Budget(
        StopRule(minimum=10, least=8, maximum=100, seconds=0.12),
        StopRule(least=30, maximum=400, seconds=1.0),
        workers=3,
        more_workers=9,
    ),
}


QUICK_START_S = 1.0
"""Workers that start in this time cost less than what they measure."""


class Stopwatch:
    """Elapsed seconds of a clock that tests can replace."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._start


def drifted(samples: Sequence[float], tolerance: float = 0.05) -> float | None:
    """Relative change of the median from the first samples to the last, if beyond noise and ``tolerance``.

    Compared are the first and last quarter, at least six samples each; beyond noise means that their intervals
    do not overlap. Fewer than twelve samples say nothing.
    """
    if len(samples) < 12:
        return None
    window = max(6, len(samples) // 4)
    early, late = median_interval(samples[:window]), median_interval(samples[-window:])
    apart = early.high < late.low or late.high < early.low
    change = late.median / early.median - 1.0 if early.median > 0 else 0.0
    return change if apart and abs(change) > tolerance else None
