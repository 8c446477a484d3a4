"""What an empty solution shows on the judge's clock: the part of a time that is no one's work."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from solbench.errors import JailError
from solbench.jail import Limits, Zygote
from solbench.judge._device import Device, Run
from solbench.judge._layouts import plan_layout
from solbench.judge._runner import Runner
from solbench.judge._statistics import quantile
from solbench.spec import Solution, SolutionSpec, SourceFile

_ROUNDS = 25
_SLOTS = 16

EMPTY_SOLUTION = Solution(
    name="empty",
    definition="empty",
    author="solbench",
    spec=SolutionSpec(
        languages=("pytorch",), target_hardware=("LOCAL",), entry_point="empty.py::run"
    ),
    sources=(SourceFile(path="empty.py", content="def run(x, y):\n    pass\n"),),
)


@dataclass(frozen=True, slots=True)
class TimerFloor:
    """Time of a run of empty calls: a part per run and a part per call."""

    run_ms: float
    call_ms: float
    jitter_ms: float = 0.0
    """Spread of empty runs, from the least to the upper quartile."""

    def latency_ms(self, latency_ms: float, count: int) -> float:
        """Latency of one call of a run of ``count``, the floor subtracted; never below zero."""
        return max(0.0, latency_ms - self.share_ms(count))

    def share_ms(self, count: int) -> float:
        """The floor's share in the latency of one call."""
        return self.call_ms + self.run_ms / count


NO_FLOOR = TimerFloor(0.0, 0.0)


def fit_floor(single_ms: list[float], batch_ms: list[float], count: int) -> TimerFloor:
    """From times of runs of one call and of ``count`` calls.

    The least of each is taken: to subtract too little errs on the safe side, also on a busy machine.
    """
    single, batch = min(single_ms), min(batch_ms)
    call = max(0.0, (batch - single) / (count - 1))
    jitter = max(quantile(single_ms, 0.75) - single, quantile(batch_ms, 0.75) - batch)
    return TimerFloor(run_ms=max(0.0, single - call), call_ms=call, jitter_ms=jitter)


def measure_floor(zygote: Zygote, device: Device) -> TimerFloor:
    """Run the empty solution through the very pipeline of a real one. Raises ``JailError`` if it
    cannot run."""
    from solbench.jail import build

    tiny = torch.zeros(1)
    layout = plan_layout(
        {"x": tiny},
        {"y": tiny},
        buffer_multiple=device.buffer_multiple,
        max_slots=_SLOTS,
        slot_budget_bytes=device.slot_budget_bytes,
    )
    arena = device.arena(layout)
    runner = Runner(zygote, device, build(EMPTY_SOLUTION, device.name), [arena], Limits())
    try:
        runner.ensure([0])
        if runner.worker is None:
            raise JailError(f"the empty solution cannot run: {runner.failures[0].reason}")
        times: dict[int, list[float]] = {1: [], _SLOTS: []}
        for _ in range(_ROUNDS):
            for count, samples in times.items():
                samples.append(_one_run(runner, device, Run(0, 0, count)))
        return fit_floor(times[1], times[_SLOTS], _SLOTS)
    finally:
        runner.stop()
        arena.close()


def _one_run(runner: Runner, device: Device, run: Run) -> float:
    worker, arena, timeout_s = runner.worker, runner.arenas[0], runner.limits.call_s
    assert worker is not None
    reply = device.hold(worker, arena, run, timeout_s)
    if not reply.ok:
        raise JailError(f"the empty solution failed: {reply.kind} {reply.detail}")
    device.flush()
    passage = device.release(worker, arena, run, timeout_s)
    if not passage.reply.ok:
        raise JailError(f"the empty solution failed: {passage.reply.kind} {passage.reply.detail}")
    return passage.elapsed_ms
