"""Three ways to time the same calls, and which of them ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from solbench.judge._calls import Outcome
from solbench.judge._floor import TimerFloor
from solbench.judge._samples import Series
from solbench.judge._sampling import Sampling
from solbench.judge._statistics import median_interval

Ranked = Literal["queued", "single", "looked", "sampled"]

# What honest kernels show on an H200 (docs/timing.md): a call that runs alone finds its code cold, which takes
# up to 3 us or 10 % longer than a call among many queued ones. What a run costs, which is subtracted from it,
# was measured when the judge started and has been seen to move by 7 us since.
_ALONE_MS = 11e-3
_ALONE_SHARE = 0.15
SHORT_ALONE_MS = 9e-3
_SHORT_RATIO = 1.75
"""Calls shorter than the allowance above could hide in it; the ratio bounds what they gain."""
_LOOKED_MS = 8e-3
"""The same by the judge's look, whose cost is known a little less well."""
_SAMPLED_MS = 0.3e-3
_SAMPLED_SHARE = 0.05
_LOOK_SPREAD_MS = 33e-3
"""Of the time of one look, from the 5th to the 95th percentile: a slope shares it among its calls."""
_LEAST_SAMPLES = 6
"""The fewest whose order statistics give a 95 % interval."""

OVERLAPS = "overlaps_calls"
EARLY = "finished_early"


@dataclass(slots=True)
class Clocks:
    """Latencies of one program by each clock; ms a call."""

    queued: Series = field(default_factory=Series)
    """By runs of several calls, up to the worker's word that they are done: the precise one."""
    single: Series = field(default_factory=Series)
    """Of calls that ran alone, up to the worker's word; empty where the device has no such run."""
    looked: Series = field(default_factory=Series)
    """Of the same calls up to the judge's look at their outputs, which sees work on other streams end too."""
    sampled: Series = field(default_factory=Series)
    """By the same runs as ``queued``, up to the judge's own look at the outputs: coarser, and no one else's."""
    ranked: Ranked = "queued"
    calls_between: int = 40
    """Calls by which the long and the short run of the last sample differ."""

    @property
    def ranking(self) -> Series:
        """The samples that make the result."""
        return {
            "queued": self.queued,
            "single": self.single,
            "looked": self.looked,
            "sampled": self.sampled,
        }[self.ranked]

    def add(self, runs: Mapping[int, Outcome], sampling: Sampling, floor: TimerFloor) -> None:
        """One sample. ``runs``: calls of a run → how it went."""
        lost_share = max(outcome.lost_share for outcome in runs.values())
        per_call = {count: outcome.latency_ms for count, outcome in runs.items()}
        self.queued.add(sampling.latency_ms(per_call, floor), lost_share)
        alone_ms = sampling.single_ms(per_call, floor)
        if alone_ms is not None:
            self.single.add(alone_ms, lost_share)
            self.add_alone(runs[1], floor)
        *_, short, long = (0, *sorted(runs))
        self.calls_between = long - short
        sampled = {count: outcome.sampled_ms for count, outcome in runs.items()}
        if all(sampled.values()):
            self.sampled.add(sampling.latency_ms(sampled, floor), lost_share)

    def add_alone(self, outcome: Outcome, floor: TimerFloor) -> None:
        """A call that ran by itself, by the judge's look at its outputs."""
        if outcome.sampled_ms and floor.look_ms:
            self.looked.add(max(0.0, outcome.sampled_ms - floor.look_ms), outcome.lost_share)

    @property
    def in_question(self) -> bool:
        """The looks at calls alone are later than at queued ones, and too few to be sure of it."""
        if not self.looked or not self.queued:
            return False
        interval = median_interval(self.looked.counted)
        limit = self._longest_alone()
        few = len(self.looked) < _LEAST_SAMPLES
        return limit < interval.median and (few or interval.low <= limit)

    def _longest_alone(self) -> float:
        """What an honest call may take alone, by the look."""
        queued = median_interval(self.queued.counted).median
        return queued * (1 + _ALONE_SHARE) + _LOOKED_MS

    def choose(self, *, queued: bool = True) -> dict[str, str]:
        """Decide which clock ranks; returns flag → evidence where it is not the precise one.

        ``queued``: whether runs were enqueued before they were released; where the host starts each call,
        only a call alone means anything.
        """
        flags: dict[str, str] = {}
        if not queued:
            self.ranked = "single"
            return flags
        self.ranked = "queued"
        if early := self._finished_early():
            flags[EARLY], self.ranked = early, "sampled"
        if overlaps := self._overlaps():
            flags[OVERLAPS], self.ranked = overlaps, "single"
        elif overlaps := self._overlaps_unseen():
            flags[OVERLAPS], self.ranked = overlaps, "looked"
        return flags

    def _finished_early(self) -> str:
        """The worker's word came before its work was done."""
        if len(self.sampled) < _LEAST_SAMPLES:
            return ""
        said = median_interval(self.queued.counted).median
        least = median_interval(self.sampled.counted).low
        allowed = _SAMPLED_MS + _LOOK_SPREAD_MS / self.calls_between
        if least <= said * (1 + _SAMPLED_SHARE) + allowed:
            return ""
        return (
            f"{said * 1e3:.3g} us a call by the worker's word, at least {least * 1e3:.3g} us by the judge's "
            "own look at the outputs"
        )

    def _overlaps(self) -> str:
        """A call takes longer alone than queued with others: they share work, or run at once."""
        if len(self.single) < _LEAST_SAMPLES or not self.queued:
            return ""
        alone = median_interval(self.single.counted).low
        queued = median_interval(self.queued.counted).median
        longer = alone - queued
        apart = longer > _ALONE_MS + _ALONE_SHARE * queued
        short = longer > SHORT_ALONE_MS and alone > _SHORT_RATIO * queued
        if not apart and not short:
            return ""
        return _longer(alone, queued)

    def _overlaps_unseen(self) -> str:
        """The same for work that the worker's word does not wait for."""
        if len(self.looked) < _LEAST_SAMPLES or not self.queued:
            return ""
        alone = median_interval(self.looked.counted).low
        if alone <= self._longest_alone():
            return ""
        return _longer(alone, median_interval(self.queued.counted).median)


def _longer(alone_ms: float, queued_ms: float) -> str:
    return (
        f"at least {alone_ms * 1e3:.3g} us for a call alone, {queued_ms * 1e3:.3g} us for one of many "
        "queued ones"
    )
