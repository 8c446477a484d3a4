"""What an empty solution shows on the judge's clock: the part of a time that is no one's work."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from solbench.errors import JailError
from solbench.jail import Limits, Zygote
from solbench.judge._device import Device, Run
from solbench.judge._layouts import plan_layout
from solbench.judge._runner import Runner
from solbench.spec import Solution, SolutionSpec, SourceFile

_ROUNDS = 25
_SLOTS = 48
_BODIES = {"cpu": "    pass", "cuda": "    torch.add(x, 1, out=y)"}
"""On a GPU, a call that enqueues nothing would say nothing about one that does: the floor is a kernel of one
element."""


def empty_solution(device: str) -> Solution:
    """A solution that does next to nothing."""
    source = f"import torch\n\n\ndef run(x, y):\n{_BODIES[device.partition(':')[0]]}\n"
    return Solution(
        name="empty",
        definition="empty",
        author="solbench",
        spec=SolutionSpec(
            languages=("pytorch",), target_hardware=("LOCAL",), entry_point="empty.py::run"
        ),
        sources=(SourceFile(path="empty.py", content=source),),
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


def measure_floor(zygote: Zygote, device: Device) -> TimerFloor:
    """Run the empty solution through the very pipeline of a real one, then the canaries. Raises ``JailError``
    if it cannot run, or if a canary comes out wrong."""
    from solbench.jail import build
    from solbench.judge._canaries import prove

    tiny = torch.zeros(1)
    layout = plan_layout(
        {"x": tiny},
        {"y": tiny},
        buffer_multiple=device.buffer_multiple,
        max_slots=min(_SLOTS, device.max_slots),
        slot_budget_bytes=device.slot_budget_bytes,
    )
    arena = device.arena(layout)
    runner = Runner(
        zygote, device, build(empty_solution(device.name), device.name), [arena], Limits()
    )
    try:
        runner.ensure([0])
        if runner.worker is None:
            raise JailError(f"the empty solution cannot run: {runner.failures[0].reason}")
        lengths = {1, *device.sampling.lengths(layout.slots)}
        times: dict[int, list[float]] = {count: [] for count in sorted(lengths)}
        for _ in range(_ROUNDS):
            for count, samples in times.items():
                samples.append(_one_run(runner, device, Run(0, 0, count)))
    finally:
        runner.stop()
        arena.close()
    floor = device.sampling.fit(times)
    prove(zygote, device, floor)
    return floor


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
