"""Two clocks and two kinds of runs to time the same calls, and which of them ranks.

Runs of several calls give the latency of one as a slope; a run of one call shows whether calls that are
queued together share work. The *look* ends when the judge has the device back, which no submission can bring
about before its work is done; the *word* is what the worker's own stream writes when it is past the last call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from solbench.judge._calls import Outcome
from solbench.judge._floor import TimerFloor
from solbench.judge._samples import Series
from solbench.judge._sampling import Sampling
from solbench.judge._statistics import median_interval

Ranked = Literal["word", "look", "alone by word", "alone by look", "alone less slack"]

# What honest kernels show on an H200 is in docs/timing.md.

_SLACK_MS = 2e-3
_SLACK_SHARE = 0.05
"""By which a call alone may be longer than one of many queued ones. If it is longer, the call alone less that
much is the time: honest code that is cold alone loses by it, and what calls may share is bounded."""
_DOUBT_MS = 1e-3
_DOUBT_SHARE = 0.1
"""Short calls could hide in the slack: beyond this much, their times are not verified."""
_MODE_MS = 4.5e-3
"""From worker to worker what a run costs has one of two values, so far apart; one that has the lower one is
among ``_MANY_WORKERS`` with fifteen chances in sixteen."""
_MANY_WORKERS = 4
_ALONE_MS = 4e-3
_ALONE_SHARE = 0.1
"""More than that no honest call has shown: it is a flag, and the call alone ranks in full."""
_STREAM_END_MS = 4e-3
"""What a call alone leaves out whose streams are never joined."""

_ALONE_WORD_MS = 11e-3
_ALONE_WORD_SHARE = 0.15
"""The same by the word: what a run costs by it, measured when the judge starts, has moved by 7 us since."""

_WORD_MS = 0.05e-3
_WORD_SHARE = 0.005
"""By which the word may be later than the look and not rank: only it sees copy engines end their work."""
_WORD_OF_ONE_MS = 12e-3
"""The same where all runs are of one call, so that the cost of a run is in the difference."""

_EARLY_MS = 0.3e-3
_EARLY_SHARE = 0.05
_LATE_LOOK_MS = 70e-3
"""A look that had to wait for the word comes later by 45 us, give or take 20."""
_LEAST_SAMPLES = 6
"""The fewest whose order statistics give a 95 % interval."""
_UNSEEN_MS = 10e-3
"""Calls shorter than this could share work unseen where no look at a call alone came at once."""

OVERLAPS = "overlaps_calls"
EARLY = "finished_early"


@dataclass(slots=True)
class Clocks:
    """Latencies of one program by each clock; ms a call."""

    by_word: Series = field(default_factory=Series)
    """Of queued calls; the only series where a device has one clock."""
    by_look: Series = field(default_factory=Series)
    """Of the same runs."""
    alone_by_word: Series = field(default_factory=Series)
    """Of calls that ran alone; empty where the device has no such run."""
    alone: list[Series] = field(default_factory=lambda: [Series()])
    """Of the same calls by the look, worker by worker."""
    looked_at_once: bool = True
    """No look of a sample that counts had to wait for the word."""
    alone_at_once: bool = True
    """The same for calls alone."""
    calls_between: int = 40
    """Calls by which the long and the short run of the last sample differ."""
    runs_of_one: bool = False
    """Too large for more than one call at a time."""
    ranked: Ranked = "word"

    def next_worker(self) -> None:
        """What follows is another worker's."""
        if self.alone[-1]:
            self.alone.append(Series())

    @property
    def alone_by_look(self) -> Series:
        """Of the worker whose calls alone are shortest: what a run costs has two modes, and is known by the
        lower one."""
        enough = [each for each in self.alone if len(each) >= _LEAST_SAMPLES]
        return min(
            enough or self.alone[-1:],
            key=lambda each: median_interval(each.counted).median if each else 0.0,
        )

    @property
    def _mode_ms(self) -> float:
        """By how much the cost of a run may be above that which is known."""
        return 0.0 if len(self.alone) >= _MANY_WORKERS else _MODE_MS

    @property
    def ranking(self) -> Series:
        """The samples that make the result."""
        if self.ranked == "alone by look":
            return self.alone_by_look.changed(lambda ms: ms + _STREAM_END_MS)
        if self.ranked == "alone less slack":
            slack_ms = _SLACK_MS + self._mode_ms
            return self.alone_by_look.changed(
                lambda ms: max(0.0, ms - slack_ms) / (1 + _SLACK_SHARE)
            )
        return {"word": self.by_word, "look": self.by_look, "alone by word": self.alone_by_word}[
            self.ranked
        ]

    @property
    def alone_ranks(self) -> bool:
        """The result is of calls that ran alone behind a release, on a device that can queue several."""
        return "alone" in self.ranked or (self.runs_of_one and bool(self.by_look))

    @property
    def precise(self) -> Series:
        """Of queued calls, by the clock that ranks unless something is wrong."""
        return self.by_look if self.by_look and self.looked_at_once else self.by_word

    def add(self, runs: Mapping[int, Outcome], sampling: Sampling, floor: TimerFloor) -> None:
        """One sample. ``runs``: calls of a run → how it went."""
        lost_share = max(outcome.lost_share for outcome in runs.values())
        per_call = {count: outcome.latency_ms for count, outcome in runs.items()}
        self.by_word.add(sampling.latency_ms(per_call, floor), lost_share)
        alone_ms = sampling.single_ms(per_call, floor)
        if alone_ms is not None:
            self.alone_by_word.add(alone_ms, lost_share)
            self.add_alone(runs[1], floor)
        self.runs_of_one = set(runs) == {1}
        *_, short, long = (0, *sorted(runs))
        self.calls_between = long - short
        looked = {count: outcome.looked_ms for count, outcome in runs.items()}
        if all(looked.values()):
            by_look = dataclasses.replace(floor, run_ms=floor.look_ms)
            self.by_look.add(sampling.latency_ms(looked, by_look), lost_share)
            if not lost_share:
                self.looked_at_once &= all(each.looked_at_once for each in runs.values())

    def add_alone(self, outcome: Outcome, floor: TimerFloor) -> None:
        """A call that ran by itself, by the look."""
        if outcome.looked_ms and floor.look_ms:
            self.alone[-1].add(max(0.0, outcome.looked_ms - floor.look_ms), outcome.lost_share)
            if not outcome.lost_share:
                self.alone_at_once &= outcome.looked_at_once

    @property
    def in_question(self) -> bool:
        """Calls alone take longer than queued ones by the look, and were looked at too few times to be sure."""
        if not self.alone_by_look or not self.by_word:
            return False
        interval = median_interval(self.alone_by_look.counted)
        limit = self._longest_alone()
        few = len(self.alone_by_look) < _LEAST_SAMPLES
        return limit < interval.median and (few or interval.low <= limit)

    def _longest_alone(self) -> float:
        """What an honest call may take alone, by the look."""
        queued = median_interval(self.precise.counted).median
        late = 0.0 if self.alone_at_once else _LATE_LOOK_MS
        return queued * (1 + _ALONE_SHARE) + _ALONE_MS + self._mode_ms + late

    def choose(self, *, queued: bool = True) -> dict[str, str]:
        """Decide which clock ranks; returns flag → evidence where something is wrong with a submission.

        ``queued``: whether runs were enqueued before they were released; where the host starts each call,
        only a call alone means anything.
        """
        flags: dict[str, str] = {}
        if not queued:
            self.ranked = "alone by word"
            return flags
        self.ranked = "look" if self._look_is_later() else "word"
        if early := self._finished_early():
            flags[EARLY], self.ranked = early, "look"
        if self._exceeds_slack():
            self.ranked = "alone less slack"
        if overlaps := self._overlaps(self.alone_by_look, self._longest_alone()):
            flags[OVERLAPS], self.ranked = overlaps, "alone by look"
        elif overlaps := self._overlaps(self.alone_by_word, self._longest_alone_by_word()):
            flags[OVERLAPS], self.ranked = overlaps, "alone by word"
        return flags

    def _look_is_later(self) -> bool:
        """Or as late as the word, as far as they can be told apart."""
        if not self.by_look or not self.looked_at_once:
            return False
        word, look = (median_interval(each.counted).median for each in (self.by_word, self.by_look))
        return word <= look * (1 + _WORD_SHARE) + (
            _WORD_OF_ONE_MS if self.runs_of_one else _WORD_MS
        )

    def _exceeds_slack(self) -> bool:
        """A call alone is longer than queued ones by more than needs no thought."""
        if len(self.alone_by_look) < _LEAST_SAMPLES or not self.alone_at_once or self.runs_of_one:
            return False
        queued = median_interval(self.ranking.counted).median
        alone = median_interval(self.alone_by_look.counted).median
        return alone > queued * (1 + _SLACK_SHARE) + _SLACK_MS + self._mode_ms

    def _finished_early(self) -> str:
        """The worker's word came before its work was done."""
        if len(self.by_look) < _LEAST_SAMPLES:
            return ""
        said = median_interval(self.by_word.counted).median
        least = median_interval(self.by_look.counted).low
        allowed = _EARLY_MS + said * _EARLY_SHARE + (_WORD_OF_ONE_MS if self.runs_of_one else 0.0)
        if not self.looked_at_once:
            allowed += _LATE_LOOK_MS / self.calls_between
        if least <= said + allowed:
            return ""
        return (
            f"{said * 1e3:.3g} us a call by the worker's word, at least {least * 1e3:.3g} us until it "
            "left the device"
        )

    def _overlaps(self, alone: Series, longest_ms: float) -> str:
        """A call takes longer alone than queued with others: they share work, or run at once."""
        if len(alone) < _LEAST_SAMPLES or not self.by_word or self.runs_of_one:
            return ""
        least = median_interval(alone.counted).low
        if least <= longest_ms:
            return ""
        queued = median_interval(self.precise.counted).median
        return (
            f"at least {least * 1e3:.3g} us for a call alone, {queued * 1e3:.3g} us for one of many "
            "queued ones"
        )

    def _longest_alone_by_word(self) -> float:
        queued = median_interval(self.by_word.counted).median
        return queued * (1 + _ALONE_WORD_SHARE) + _ALONE_WORD_MS

    def doubt(self) -> str:
        """Why queued calls may have shared work though no flag says so; empty if they cannot have gained by it,
        or where the device has no such clock."""
        if self.ranked.startswith("alone by") or not self.by_look or self.runs_of_one:
            return ""
        latency = median_interval(self.ranking.counted).median
        if not self.alone_at_once or len(self.alone_by_look) < _LEAST_SAMPLES:
            return (
                f"{latency * 1e3:.3g} us: calls shorter than {_UNSEEN_MS * 1e3:.0f} us could share work, and "
                "none was timed alone well enough to tell"
                if latency < _UNSEEN_MS
                else ""
            )
        alone = median_interval(self.alone_by_look.counted).median
        if alone <= latency * (1 + _DOUBT_SHARE) + _DOUBT_MS:
            return ""
        return (
            f"{alone * 1e3:.3g} us for a call alone, {latency * 1e3:.3g} us for one of many queued ones: they "
            "could share work"
        )
