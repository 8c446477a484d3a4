"""The SOL score and its aggregates: pure functions over plain numbers.

With T_k the measured time, T_b the baseline and T_SOL the bound::

    S = (T_b - T_SOL) / ((T_k - T_SOL) + (T_b - T_SOL))

which is 0.5 at the baseline and 1 at the bound, and falls as T_k grows.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

ScoreKind = Literal[
    "scored", "write_absorbed", "failed", "saturated", "faster_than_bound", "no_bound"
]

UNDECIDABLE_SHARE = 0.25
"""Above this share of the headroom, the noise of T_k decides more than the solution does."""


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """The score of one workload, or why there is none."""

    score: float | None
    note: str
    kind: ScoreKind


@dataclass(frozen=True, slots=True)
class ProblemScore:
    """Mean over a problem's workloads."""

    score: float | None
    """``None``: withheld, or no workload can be scored."""
    scored: int
    """The denominator: workloads with a number, failed ones included."""
    failed: int
    left_out: int
    """Saturated workloads and those without a bound: neither is the solution's doing."""
    withheld: bool
    note: str


@dataclass(frozen=True, slots=True)
class SuiteScore:
    """Arithmetic mean over problems."""

    score: float | None
    denominator: int
    withheld: int
    """Problems whose score is withheld: they count 0, so that being withheld never pays."""
    median: float | None


def sol_score(
    t_k_ms: float, t_b_ms: float, t_sol_ms: float | None, t_floor_ms: float | None = None
) -> ScoreResult:
    """Score one workload. Raises ``ValueError`` for times that are not positive finite numbers.

    ``t_floor_ms`` is the least time if every write stayed in the cache: between it and ``t_sol_ms``
    the time is explained (``write_absorbed``) and counts as 1; below, it is ``faster_than_bound``
    and gets no number.

    >>> solbench.sol_score(t_k_ms=2.0, t_b_ms=5.0, t_sol_ms=1.0).score
    0.8
    >>> solbench.sol_score(t_k_ms=0.5, t_b_ms=5.0, t_sol_ms=1.0).score is None
    True
    """
    _require_times(t_k_ms, t_b_ms)
    if t_sol_ms is None:
        return ScoreResult(None, "no score: the bound is not complete", "no_bound")
    if t_k_ms < t_sol_ms and (t_floor_ms is None or t_k_ms < t_floor_ms):
        note = f"faster_than_bound: {t_k_ms:.6g} ms is below T_SOL = {t_sol_ms:.6g} ms; withheld until reviewed"
        return ScoreResult(None, note, "faster_than_bound")
    if t_b_ms <= t_sol_ms:
        note = f"saturated: the baseline {t_b_ms:.6g} ms is not above T_SOL = {t_sol_ms:.6g} ms"
        return ScoreResult(None, note, "saturated")
    if t_k_ms < t_sol_ms:
        note = (
            "write_absorbed: below T_SOL, explained by writes that stayed in the cache; counts as 1"
        )
        return ScoreResult(1.0, note, "write_absorbed")
    headroom = t_b_ms - t_sol_ms
    return ScoreResult(headroom / ((t_k_ms - t_sol_ms) + headroom), "", "scored")


def failed(reason: str) -> ScoreResult:
    """The score of a workload whose verdict is not PASSED."""
    return ScoreResult(0.0, reason, "failed")


def problem_score(results: Sequence[ScoreResult]) -> ProblemScore:
    """Mean over the workloads of one problem; a failed one counts 0.

    One ``faster_than_bound`` withholds the whole problem. Saturated workloads and those without a
    bound are left out.
    """
    numbers = [result.score for result in results if result.score is not None]
    failures = sum(result.kind == "failed" for result in results)
    withheld = [result for result in results if result.kind == "faster_than_bound"]
    left_out = len(results) - len(numbers) - len(withheld)
    if withheld:
        score, note = None, withheld[0].note
    elif not numbers:
        score, note = None, "no workload can be scored"
    else:
        score, note = statistics.fmean(numbers), f"mean over {len(numbers)} workloads"
    return ProblemScore(score, len(numbers), failures, left_out, bool(withheld), note)


def suite_score(problems: Iterable[ProblemScore]) -> SuiteScore:
    """Mean over problems. Withheld problems count 0; problems that nobody can score are left
    out."""
    values: list[float] = []
    withheld = 0
    for problem in problems:
        withheld += problem.withheld
        if problem.withheld or problem.score is not None:
            values.append(problem.score or 0.0)
    if not values:
        return SuiteScore(None, 0, withheld, None)
    return SuiteScore(statistics.fmean(values), len(values), withheld, statistics.median(values))


def headroom_reclaimed(t_k_ms: float, t_b_ms: float, t_sol_ms: float) -> float:
    """``(T_b - T_k) / (T_b - T_SOL)``: 0 at the baseline, 1 at the bound, negative when slower.

    Where both exist, ``S = 1 / (2 - headroom)``. Raises ``ValueError`` when the baseline is not
    above the bound.
    """
    if t_b_ms <= t_sol_ms:
        raise ValueError("no headroom: the baseline is not above the bound")
    return (t_b_ms - t_k_ms) / (t_b_ms - t_sol_ms)


def distance(t_k_ms: float, t_sol_ms: float) -> float:
    """``T_k / T_SOL``: how many times the bound."""
    return t_k_ms / t_sol_ms


def fast_p(speedups: Sequence[float | None], p: float) -> float:
    """Share of problems that are right and more than ``p`` times as fast as the baseline; ``None``
    is a failure."""
    if not speedups:
        raise ValueError("fast_p of no problems")
    return sum(speedup is not None and speedup > p for speedup in speedups) / len(speedups)


def geometric_mean(speedups: Sequence[float]) -> float:
    """Geometric mean of positive speed-ups."""
    if not speedups or any(speedup <= 0 for speedup in speedups):
        raise ValueError("a geometric mean needs at least one number, all positive")
    return math.exp(statistics.fmean(math.log(speedup) for speedup in speedups))


def undecidable(
    ci_low_ms: float,
    ci_high_ms: float,
    t_b_ms: float,
    t_sol_ms: float,
    share: float = UNDECIDABLE_SHARE,
) -> bool:
    """Whether the interval of T_k is wider than ``share`` of the headroom ``T_b - T_SOL``."""
    return (ci_high_ms - ci_low_ms) > share * (t_b_ms - t_sol_ms)


def _require_times(*times_ms: float) -> None:
    for time_ms in times_ms:
        if not (math.isfinite(time_ms) and time_ms >= 0):
            raise ValueError(f"not a time: {time_ms!r}")
