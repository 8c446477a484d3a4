"""The drain clock's order of steps, on a fake worker; arenas and streams need a GPU."""

from __future__ import annotations

from typing import Any

import pytest

from solbench.jail import Command, Reply
from solbench.judge._device import Run
from solbench.judge._device_cuda import CudaArena, CudaDevice

RUN = Run(layout=0, first=0, count=4)


class QueueWorker:
    """Answers a QUEUE at once, or only after the judge has released it."""

    pid = 4711

    def __init__(self, events: list[Any], queues: bool) -> None:
        self.events = events
        self.queues = queues

    def command(self, command: Command, *, layout: int = 0, first: int = 0, count: int = 1) -> int:
        self.events.append(command)
        return len(self.events)

    def release(self, sequence: int) -> None:
        self.events.append(("released", sequence))

    def answers(self, sequence: int, timeout_s: float) -> bool:
        return self.queues

    def wait(self, sequence: int, timeout_s: float) -> Reply:
        self.events.append("wait")
        return Reply("done", seen_ns=10**18)


@pytest.fixture
def events() -> list[Any]:
    return []


@pytest.fixture
def device() -> CudaDevice:
    device = object.__new__(CudaDevice)
    device._synchronising = set()
    device._monitor = None
    device._queued = {}
    return device


@pytest.fixture
def arena() -> CudaArena:
    return object.__new__(CudaArena)


def test_a_queued_run_starts_when_its_own_command_is_released(device, arena, events) -> None:
    worker = QueueWorker(events, queues=True)
    assert device.hold(worker, arena, RUN, 1.0).ok
    assert events == [Command.QUEUE, "wait"]  # held: nothing has released it
    assert device.release(worker, arena, RUN, 1.0).reply.ok
    assert events[2:] == [Command.SYNCHRONISE, ("released", 1), "wait"]
    assert device.notes(worker) == {}


def test_a_worker_that_cannot_queue_is_let_go_and_then_run_singly(device, arena, events) -> None:
    worker = QueueWorker(events, queues=False)
    assert device.hold(worker, arena, RUN, 1.0).ok
    assert events == [Command.QUEUE, ("released", 1), "wait"]
    assert "synchronises" in device.notes(worker)
    events.clear()
    # From now on nothing is queued: the release itself starts the calls.
    assert device.hold(worker, arena, RUN, 1.0).ok
    assert events == []
    device.release(worker, arena, RUN, 1.0)
    assert events == [Command.RUN, "wait"]


def test_a_new_worker_under_an_old_number_may_queue_again(device, arena, events) -> None:
    worker = QueueWorker(events, queues=False)
    device.hold(worker, arena, RUN, 1.0)
    device.settle(worker)
    assert device.notes(worker) == {}
