"""From times of runs to the latency of one call: what a device's clock needs to be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from solbench.judge._floor import TimerFloor


_FLOORS_CLEAR = 10
"""The floor is what the shim costs, and a submission can put itself in the shim's place: what it can win
so is then below a tenth."""


class Sampling(Protocol):
    """How many calls a run holds, which runs make a sample, and what the sample is."""

    def batch(self, fastest_ms: float, slowest_ms: float, slots: int) -> int:
        """Calls in the shortest run of a sample, from first estimates for candidate and reference."""

    def lengths(self, batch: int) -> tuple[int, ...]:
        """Calls of each run of a sample, in order."""

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        """Latency of one call. ``runs``: calls of a run → its time in ms over its calls."""

    def doubt(self, batch: int, latency_ms: float, floor_ms: float) -> str:
        """Why a submission could have shortened a latency without doing its work faster; empty if
        it could not. Such a time is not verified."""


@dataclass(frozen=True, slots=True)
class PerRun:
    """One run is one sample; what an empty run shows is subtracted.

    A flush leaves the solution's code as cold as its data, so the latency of a short call depends on how many
    calls share a run. The batch therefore follows from the size of the buffers alone, and is the same in every
    evaluation of a workload: half the slots, which is up to 8 calls of small buffers, and 0.1 ms or more of
    memory traffic in any case. Calls of ``long_ms`` are run singly: beside them nothing else matters.
    """

    long_ms: float = 10.0

    def batch(self, fastest_ms: float, slowest_ms: float, slots: int) -> int:
        return 1 if slowest_ms >= self.long_ms else max(1, slots // 2)

    def lengths(self, batch: int) -> tuple[int, ...]:
        return (batch,)

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        ((count, per_call_ms),) = runs.items()
        return floor.latency_ms(per_call_ms, count)

    def doubt(self, batch: int, latency_ms: float, floor_ms: float) -> str:
        if batch > 1:
            return f"{batch} inputs lie ready at once in so short a run: calls could share work"
        if latency_ms < _FLOORS_CLEAR * floor_ms:
            return (
                f"{latency_ms:.3g} ms is not far above the timer's floor of {floor_ms:.3g} ms, "
                "which native code could avoid"
            )
        return ""


@dataclass(frozen=True, slots=True)
class Slope:
    """Two runs, of N and 2N calls: their difference over N is free of any cost per run."""

    least_ms: float = 4.0
    """Length of the shorter run, by a first cold call, which may take ten times what a warm one does:
    release and acknowledgement jitter by some ten microseconds."""

    def batch(self, fastest_ms: float, slowest_ms: float, slots: int) -> int:
        return _calls_for(self.least_ms, fastest_ms, slots // 2)

    def lengths(self, batch: int) -> tuple[int, ...]:
        return (batch, 2 * batch)

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        short, long = sorted(runs)
        return max(0.0, (runs[long] * long - runs[short] * short) / (long - short))

    def doubt(self, batch: int, latency_ms: float, floor_ms: float) -> str:
        return ""


def _calls_for(least_ms: float, latency_ms: float, slots: int) -> int:
    if latency_ms <= 0:
        return slots
    return max(1, min(slots, math.ceil(least_ms / latency_ms)))
