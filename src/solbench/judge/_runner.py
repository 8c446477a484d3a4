"""One submission's worker over its life: spawned, loaded, met, sealed, and replaced after a
death."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence

from solbench.errors import JailError
from solbench.jail import Limits, Reply, Walls, Worker, WorkerPlan, Zygote
from solbench.jail.protocol import Artifact, Command
from solbench.judge._device import Arena, Device
from solbench.judge._layouts import total_bytes
from solbench.judge._statistics import Stopwatch
from solbench.judge._verdicts import Failure, failure_of

MEET_SLOTS_S = 1.0
WORKER_BYTES_PER_BUFFER_BYTE = 4
"""Private copies of inputs, and temporaries of an eager program."""


def limits_for(
    device: Device, arenas: Sequence[Arena], limits: Limits | None, timeout_s: float | None = None
) -> Limits:
    """The given limits, or defaults whose memory suits these buffers; ``timeout_s`` takes the place of those
    of a call, the first one with its compilation included."""
    if timeout_s is not None:
        chosen = limits_for(device, arenas, limits)
        return dataclasses.replace(chosen, call_s=timeout_s, meet_s=timeout_s)
    if limits is not None:
        return limits
    buffers = total_bytes([arena.layout for arena in arenas])
    memory = device.worker_base_bytes + WORKER_BYTES_PER_BUFFER_BYTE * buffers
    return dataclasses.replace(Limits(), memory_bytes=max(memory, Limits().memory_bytes))


def _nothing(layout: int) -> None:
    """The slots hold what they need from the beginning."""


class Runner:
    """Keeps a worker of one artifact ready for the workloads that are still wanted.

    ``arenas[i]`` belongs to layout ``i`` and holds throwaway inputs when the worker meets it.
    """

    def __init__(
        self,
        zygote: Zygote,
        device: Device,
        artifact: Artifact,
        arenas: Sequence[Arena],
        limits: Limits,
        show: Callable[[int], None] = _nothing,
    ) -> None:
        """``show`` lets a layout's slots hold throwaway values; it is called before the layout is met."""
        self.limits = limits
        self._show = show
        self.walls = Walls({})
        self.failures: dict[int, Failure] = {}
        """Layouts that will not be run, and why."""
        self.worker: Worker | None = None
        self._is_raw = False
        """The worker was forked, and no more."""
        self.log = ""
        """Log of the last worker that ended."""
        self._zygote = zygote
        self._device = device
        self.arenas = arenas
        self._plan = WorkerPlan(
            artifact,
            tuple(arena.layout for arena in arenas),
            device.name,
            limits,
            tuple(memory for arena in arenas if (memory := arena.device_memory()) is not None),
        )

    def fork(self) -> None:
        """Have a worker come up while the caller goes on: on a GPU that takes a while. What is wrong with it is
        found by :meth:`ensure`."""
        if self.worker is None:
            self.worker, self._is_raw = self._spawn(), True

    def ensure(self, wanted: Iterable[int]) -> None:
        """Have a sealed worker that has met every wanted layout; those it cannot meet enter
        ``failures``.

        A worker that dies on one layout is replaced by one that is never shown it.
        """
        if self.worker is not None and not self._is_raw:
            return
        while remaining := [layout for layout in wanted if layout not in self.failures]:
            try:
                failure = self._prepare(remaining)
            except BaseException:
                self.stop()  # it is not sealed
                raise
            if failure is None:
                return
            self.stop()

    def stop(self) -> None:
        """End the worker, keeping its log."""
        if self.worker is not None:
            self.worker.kill()
            self.log = self.worker.log_tail()
            self.worker, self._is_raw = None, False

    def log_tail(self) -> str:
        """What the submission printed last."""
        return self.worker.log_tail() if self.worker is not None else self.log

    def _prepare(self, layouts: Sequence[int]) -> Failure | None:
        """Spawn, load, meet and seal. A failure means that this worker cannot be used."""
        if not self._is_raw:
            self.worker = self._spawn()
        self._is_raw = False
        failure = failure_of(self._command(Command.LOAD, self.limits.load_s), "load")
        if failure is not None:
            return self._give_up(layouts, failure)
        for layout in layouts:
            failure = self._meet(layout)
            if failure is not None:
                self.failures[layout] = failure
                if failure.fatal or self._device.errors_stick:
                    return failure
        if all(layout in self.failures for layout in layouts):
            return self.failures[layouts[0]]
        return self._seal(layouts)

    def _spawn(self) -> Worker:
        """A fresh worker. A zygote that dies is noticed by a failing spawn; the next one starts another."""
        buffers = [list(arena.buffers()) for arena in self.arenas]
        try:
            return self._zygote.spawn(self._plan, buffers)
        except JailError:
            return self._zygote.spawn(self._plan, buffers)

    def _meet(self, layout: int) -> Failure | None:
        """One call that may compile, then one on every other slot, so that graphs know their addresses.

        A slow solution meets only as many slots as fit in the time: it has no use for the rest.
        """
        self._show(layout)
        failure = failure_of(self._command(Command.MEET, self.limits.meet_s, layout), "prepare")
        watch = Stopwatch(time.perf_counter)
        for slot in range(1, self.arenas[layout].layout.slots):
            if failure is not None or watch.elapsed_s > MEET_SLOTS_S:
                break
            reply = self._command(Command.RUN, self.limits.meet_s, layout, slot)
            failure = failure_of(reply, "prepare")
        return failure

    def _seal(self, layouts: Sequence[int]) -> Failure | None:
        failure = failure_of(self._command(Command.SEAL, self.limits.load_s), "seal")
        if failure is not None:
            return self._give_up(layouts, failure)
        if self.worker is None:
            raise JailError("the worker is gone")
        self.walls = self.worker.walls()
        self._device.settle(self.worker)
        return None

    def _give_up(self, layouts: Sequence[int], failure: Failure) -> Failure:
        self.failures.update(dict.fromkeys(layouts, failure))
        return failure

    def _command(self, command: Command, timeout_s: float, layout: int = 0, slot: int = 0) -> Reply:
        if self.worker is None:
            raise JailError("the worker is gone")
        sequence = self.worker.command(command, layout=layout, first=slot, count=1)
        return self.worker.wait(sequence, timeout_s)
