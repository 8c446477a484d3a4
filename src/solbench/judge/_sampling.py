"""From times of runs to the latency of one call: what a device's clock needs to be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from solbench.judge._floor import TimerFloor


class Sampling(Protocol):
    """How many calls a run holds, which runs make a sample, and what the sample is."""

    def batch(self, latency_ms: float, slots: int) -> int:
        """Calls in the shortest run of a sample, from a first estimate of a call's latency."""

    def lengths(self, batch: int) -> tuple[int, ...]:
        """Calls of each run of a sample, in order."""

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        """Latency of one call. ``runs``: calls of a run → its time in ms over its calls."""


@dataclass(frozen=True, slots=True)
class PerRun:
    """One run is one sample; what an empty run shows is subtracted."""

    least_ms: float = 0.1
    """Runs are batched to at least this long, so that the clock's own jitter stays small."""

    def batch(self, latency_ms: float, slots: int) -> int:
        return _calls_for(self.least_ms, latency_ms, slots)

    def lengths(self, batch: int) -> tuple[int, ...]:
        return (batch,)

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        ((count, per_call_ms),) = runs.items()
        return floor.latency_ms(per_call_ms, count)


@dataclass(frozen=True, slots=True)
class Slope:
    """Two runs, of N and 2N calls: their difference over N is free of any cost per run."""

    least_ms: float = 1.0
    """Length of the shorter run: release and acknowledgement jitter by a few microseconds."""

    def batch(self, latency_ms: float, slots: int) -> int:
        return _calls_for(self.least_ms, latency_ms, slots // 2)

    def lengths(self, batch: int) -> tuple[int, ...]:
        return (batch, 2 * batch)

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        short, long = sorted(runs)
        return max(0.0, (runs[long] * long - runs[short] * short) / (long - short))


def _calls_for(least_ms: float, latency_ms: float, slots: int) -> int:
    if latency_ms <= 0:
        return slots
    return max(1, min(slots, math.ceil(least_ms / latency_ms)))
