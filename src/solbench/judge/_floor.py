"""What an empty solution shows on the judge's clock: the part of a time that is no one's work."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import torch

from solbench.errors import JailError
from solbench.jail import Limits, Reply, Zygote
from solbench.judge._device import Device, Passage, Run
from solbench.judge._layouts import plan_layout
from solbench.judge._phases import Phases
from solbench.judge._runner import Runner
from solbench.spec import Solution, SolutionSpec, SourceFile

_ROUNDS = 25
_SLOTS = 48
_SPARE_WORKERS = 2
_WORKERS = 3
"""Where what a run costs has two modes from worker to worker, the lower one is wanted."""
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
    look_ms: float = 0.0
    """A run's part until the judge has the device back; 0 where there is no such clock."""

    def latency_ms(self, latency_ms: float, count: int) -> float:
        """Latency of one call of a run of ``count``, the floor subtracted; never below zero."""
        return max(0.0, latency_ms - self.share_ms(count))

    def share_ms(self, count: int) -> float:
        """The floor's share in the latency of one call."""
        return self.call_ms + self.run_ms / count


NO_FLOOR = TimerFloor(0.0, 0.0)


class _WorkerLost(JailError):
    """The empty solution's worker was killed, or the machine gave it no time."""


def measure_floor(
    zygote: Zygote, device: Device, phases: Phases, first: EmptyWorker | None = None
) -> TimerFloor:
    """Run the empty solution through the very pipeline of a real one, then the canaries. Raises ``JailError``
    if it cannot run, or if a canary comes out wrong. ``first``: a worker that was forked before."""
    from solbench.judge._canaries import prove

    with phases.within("floor"):
        floors = [_measured_again(zygote, device, first)]
        # One after another, alone on the device as a submission's worker will be.
        while len(floors) < (_WORKERS if device.queues else 1):
            floors.append(_measured_again(zygote, device))
    floor = min(floors, key=lambda each: each.look_ms)
    with phases.within("canaries"):
        prove(zygote, device, floor)
    return floor


class EmptyWorker:
    """A worker of the empty solution, forked at once: on a GPU it takes a while to come up. A context
    manager."""

    def __init__(self, zygote: Zygote, device: Device) -> None:
        from solbench.jail import build

        self._device = device
        tiny = torch.zeros(1)
        layout = plan_layout(
            {"x": tiny},
            {"y": tiny},
            buffer_multiple=device.buffer_multiple,
            max_slots=min(_SLOTS, device.max_slots),
            slot_budget_bytes=device.slot_budget_bytes,
        )
        self._arena = device.arena(layout)
        self._runner = Runner(
            zygote,
            device,
            build(empty_solution(device.name), device.name),
            [self._arena],
            Limits(),
        )
        try:
            self._runner.fork()
        except BaseException:
            self.close()
            raise

    def passages(self) -> Mapping[int, Sequence[Passage]]:
        """Runs of empty calls, by how many calls they are of."""
        runner, device = self._runner, self._device
        runner.ensure([0])
        if runner.worker is None:
            failure = runner.failures[0]
            kind = _WorkerLost if failure.fatal else JailError
            raise kind(f"the empty solution cannot run: {failure.reason}")
        lengths = {1, *device.sampling.lengths(self._arena.layout.slots)}
        passages: dict[int, list[Passage]] = {count: [] for count in sorted(lengths)}
        for _ in range(_ROUNDS):
            for count, samples in passages.items():
                samples.append(_one_run(runner, device, Run(0, 0, count)))
        return passages

    def close(self) -> None:
        """Idempotent."""
        self._runner.stop()
        self._arena.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _measured_again(
    zygote: Zygote, device: Device, worker: EmptyWorker | None = None
) -> TimerFloor:
    """A worker that someone kills is no fault of the machine: another takes its place."""
    for _ in range(_SPARE_WORKERS):
        with contextlib.suppress(_WorkerLost):
            return _measured(device, worker or EmptyWorker(zygote, device))
        worker = None
    return _measured(device, EmptyWorker(zygote, device))


def _measured(device: Device, worker: EmptyWorker) -> TimerFloor:
    with worker:
        passages = worker.passages()
    floor = device.sampling.fit(
        {count: [each.elapsed_ms for each in runs] for count, runs in passages.items()}
    )
    look_ms = statistics.median(each.looked_ms for each in passages[1]) - floor.call_ms
    return dataclasses.replace(floor, look_ms=max(0.0, look_ms))


def _one_run(runner: Runner, device: Device, run: Run) -> Passage:
    worker, arena, timeout_s = runner.worker, runner.arenas[0], runner.limits.call_s
    assert worker is not None
    _require(device.hold(worker, arena, run, timeout_s))
    device.rehearse(worker)
    device.flush()
    passage = device.release(worker, arena, run, timeout_s)
    _require(passage.reply)
    return passage


def _require(reply: Reply) -> None:
    if not reply.ok:
        kind = JailError if reply.kind == "done" else _WorkerLost
        raise kind(f"the empty solution failed: {reply.kind} {reply.detail}")
