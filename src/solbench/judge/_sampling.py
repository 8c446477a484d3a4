"""From times of runs to the latency of one call: what a device's clock needs to be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from solbench.judge._statistics import quantile

if TYPE_CHECKING:
    from solbench.judge._floor import TimerFloor


FLOORS_CLEAR = 10
"""The floor is what the shim costs, and a submission can put itself in the shim's place: what it can win
so is then below a tenth."""


class Sampling(Protocol):
    """How many calls a run holds, which runs make a sample, and what the sample is."""

    def batch(self, fastest_ms: float, slowest_ms: float, slots: int) -> int:
        """Calls in the longest run of a sample, from first estimates for candidate and reference."""

    def lengths(self, batch: int) -> tuple[int, ...]:
        """Calls of each run of a sample, in order."""

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        """Latency of one call. ``runs``: calls of a run → its time in ms over its calls."""

    def single_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float | None:
        """Latency of a call that ran alone, a cost per run subtracted; ``None`` where no run tells."""

    def fit(self, runs: Mapping[int, list[float]]) -> TimerFloor:
        """The floor from runs of calls that do next to nothing: calls of a run → times in ms."""

    def floor_ms(self, batch: int, floor: TimerFloor) -> float:
        """What is subtracted from each latency."""

    def resolution_ms(self, batch: int, floor: TimerFloor) -> float:
        """Spread of a latency that the clock itself is to blame for."""

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

    def single_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float | None:
        return None

    def fit(self, runs: Mapping[int, list[float]]) -> TimerFloor:
        """The least of each length is taken: to subtract too little errs on the safe side, also on a busy
        machine."""
        from solbench.judge._floor import TimerFloor

        short, long = min(runs), max(runs)
        single, batch = min(runs[short]), min(runs[long])
        call = max(0.0, (batch - single) / (long - short))
        jitter = max(quantile(times, 0.75) - min(times) for times in runs.values())
        return TimerFloor(max(0.0, single - call * short), call, jitter)

    def floor_ms(self, batch: int, floor: TimerFloor) -> float:
        return floor.share_ms(batch)

    def resolution_ms(self, batch: int, floor: TimerFloor) -> float:
        return floor.jitter_ms / batch

    def doubt(self, batch: int, latency_ms: float, floor_ms: float) -> str:
        if batch > 1:
            return f"{batch} inputs lie ready at once in so short a run: calls could share work"
        if latency_ms < FLOORS_CLEAR * floor_ms:
            return (
                f"{latency_ms:.3g} ms is not far above the timer's floor of {floor_ms:.3g} ms, "
                "which native code could avoid"
            )
        return ""


@dataclass(frozen=True, slots=True)
class Slope:
    """A short and a long run: their difference over the difference in calls is free of any cost per run.

    A third run, of one call alone, shows whether calls that are queued together share work. Where there is
    memory for one call only, that is the sample, less what a run costs.
    """

    least_ms: float = 1.0
    """Length of the long run, by a first cold call, unless the slots are too few: a run jitters by a few
    microseconds."""
    short_share: int = 6
    """The short run has this part of the long run's calls; it is there to leave what comes first in a run, such
    as cold code, out of the difference."""

    def batch(self, fastest_ms: float, slowest_ms: float, slots: int) -> int:
        if fastest_ms <= 0:
            return slots
        return min(slots, max(2, math.ceil(self.least_ms / fastest_ms)))

    def lengths(self, batch: int) -> tuple[int, ...]:
        return tuple(sorted({1, max(1, batch // self.short_share), batch}))

    def latency_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float:
        if set(runs) == {1}:
            return max(0.0, runs[1] - floor.run_ms)
        short, long = sorted(runs)[-2:]
        return max(0.0, (runs[long] * long - runs[short] * short) / (long - short))

    def single_ms(self, runs: Mapping[int, float], floor: TimerFloor) -> float | None:
        return max(0.0, runs[1] - floor.run_ms)

    def fit(self, runs: Mapping[int, list[float]]) -> TimerFloor:
        """Medians: what is subtracted here only serves the comparison of single calls with queued ones."""
        from solbench.judge._floor import TimerFloor

        short, long = sorted(runs)[-2:]
        middle = {count: quantile(times, 0.5) for count, times in runs.items()}
        call = max(0.0, (middle[long] - middle[short]) / (long - short))
        jitter = max(quantile(times, 0.75) - quantile(times, 0.25) for times in runs.values())
        return TimerFloor(max(0.0, middle[min(runs)] - call), call, jitter)

    def floor_ms(self, batch: int, floor: TimerFloor) -> float:
        """Nothing: a slope has no floor, and the launch of a kernel is the solution's own."""
        return 0.0

    def resolution_ms(self, batch: int, floor: TimerFloor) -> float:
        *_, short, long = (0, *self.lengths(batch))
        return floor.jitter_ms / (long - short)

    def doubt(self, batch: int, latency_ms: float, floor_ms: float) -> str:
        """None of its own: see ``Clocks.doubt``."""
        return ""
