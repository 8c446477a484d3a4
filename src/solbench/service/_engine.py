"""Queues, one for each device, and the threads that work them off."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from solbench.errors import InputError, SolBenchError
from solbench.judge import EvaluationResult, Mode
from solbench.service._queue import FairQueue
from solbench.service._records import FINISHED, Job, State, Submission
from solbench.spec import Problem, Solution, Trace

_MOST_FINISHED = 1000
"""Jobs that are remembered when they are over; the oldest are forgotten."""
_MOST_QUEUED = 1000


class EvaluatesAsync(Protocol):
    """What the engine needs of :class:`solbench.judge.Judge`."""

    def aevaluate(
        self,
        problem: Problem,
        solution: Solution,
        *,
        workloads: Sequence[str] | None,
        on_trace: Callable[[Trace], None] | None,
        hardware: str | None,
        mode: Mode,
        timeout_s: float | None,
        require_jail: bool,
        require_admission: bool,
    ) -> Coroutine[Any, Any, EvaluationResult]: ...

    def close(self) -> None: ...


class QueueFull(InputError):
    """The device's queue takes no more."""


class Stopping(InputError):
    """The service is about to end."""


@dataclass(eq=False, slots=True)
class _Entry:
    id: str
    client: str
    device: str
    problem: Problem
    submission: Submission
    state: State = "queued"
    traces: list[Trace] = field(default_factory=list)
    error: str | None = None
    passed: bool | None = None
    score: float | None = None
    cancel: Callable[[], None] | None = None
    """Ends the evaluation that runs; ``None`` where none does."""
    unwanted: bool = False


class Engine:
    """Takes submissions, evaluates them one at a time for each device, and remembers what became of them.

    Thread-safe. A context manager: leaving it ends everything.
    """

    def __init__(
        self,
        devices: Sequence[str],
        make_judge: Callable[[str], EvaluatesAsync],
        most_queued: int = _MOST_QUEUED,
    ) -> None:
        self.devices = tuple(devices)
        self._make_judge = make_judge
        self._judges: dict[str, EvaluatesAsync] = {}
        self._most_queued = most_queued
        self._changed = threading.Condition()
        self._jobs: OrderedDict[str, _Entry] = OrderedDict()
        self._queues: dict[str, FairQueue[_Entry]] = {each: FairQueue() for each in self.devices}
        self.stopping = False
        self._threads = [
            threading.Thread(target=self._work, args=(each,), name=f"judge of {each}", daemon=True)
            for each in self.devices
        ]
        for thread in self._threads:
            thread.start()

    def warm_up(self) -> None:
        """Start the judge of each device now. Raises ``SolBenchError`` for a device that is missing, which
        otherwise every job would be told. Before anything is submitted."""
        for device in self.devices:
            self._judge(device)

    def submit(self, client: str, submission: Submission, problem: Problem) -> Job:
        """Queue one evaluation. Raises ``InputError`` for an unknown device or workload, ``QueueFull`` and
        ``Stopping``."""
        device = submission.device or self.devices[0]
        if device not in self._queues:
            known = ", ".join(self.devices)
            raise InputError(
                f"this service has no device '{device}'", key="device", remedy=f"It has: {known}."
            )
        for uuid in submission.workloads or ():
            problem.workload(uuid)
        with self._changed:
            if self.stopping:
                raise Stopping("the service is stopping", remedy="Submit to another one.")
            queue = self._queues[device]
            if len(queue) >= self._most_queued:
                raise QueueFull(
                    f"{len(queue)} evaluations wait for {device} already", remedy="Try again later."
                )
            entry = _Entry(secrets.token_hex(8), client, device, problem, submission)
            self._jobs[entry.id] = entry
            queue.put(client, entry)
            self._changed.notify_all()
            return self._job(entry, whole=False)

    def job(self, job_id: str, *, wait_s: float = 0.0) -> Job | None:
        """A job with its traces, when it is over or ``wait_s`` is; ``None`` for one that is unknown."""
        end = time.monotonic() + wait_s
        with self._changed:
            entry = self._jobs.get(job_id)
            while entry is not None and entry.state not in FINISHED:
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            return self._job(entry, whole=True) if entry is not None else None

    def jobs(self, client: str | None = None) -> tuple[Job, ...]:
        """All jobs, or a client's, oldest first, without their traces."""
        with self._changed:
            return tuple(
                self._job(each, whole=False)
                for each in self._jobs.values()
                if client in (None, each.client)
            )

    def cancel(self, job_id: str) -> Job | None:
        """Take a job out of the queue, or end its evaluation. What is over stays as it is."""
        with self._changed:
            entry = self._jobs.get(job_id)
            if entry is None:
                return None
            if entry.state == "queued":
                self._queues[entry.device].remove(entry.client, entry)
                self._finish(entry, "cancelled", "cancelled by a client")
            elif entry.state == "running":
                self._unwant(entry)
            return self._job(entry, whole=True)

    def counts(self) -> tuple[int, int]:
        """How many wait, and how many run."""
        with self._changed:
            states = [each.state for each in self._jobs.values()]
            return states.count("queued"), states.count("running")

    def stop(self, grace_s: float) -> None:
        """Refuse what comes, cancel what waits, and let what runs finish for ``grace_s``; then it is cancelled
        too. Returns when every judge has ended. Idempotent."""
        with self._changed:
            self.stopping = True
            for queue in self._queues.values():
                while (entry := queue.take()) is not None:
                    self._finish(entry, "cancelled", "the service was stopped before its turn")
            self._changed.notify_all()
        end = time.monotonic() + grace_s
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        with self._changed:
            for each in self._jobs.values():
                if each.state == "running":
                    self._unwant(each)
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(0.0)

    def _unwant(self, entry: _Entry) -> None:
        entry.unwanted = True
        if entry.cancel is not None:
            entry.cancel()

    def _judge(self, device: str) -> EvaluatesAsync:
        if device not in self._judges:
            self._judges[device] = self._make_judge(device)
        return self._judges[device]

    def _end_judge(self, device: str) -> None:
        judge = self._judges.pop(device, None)
        if judge is not None:
            judge.close()

    def _work(self, device: str) -> None:
        try:
            while (entry := self._next(device)) is not None:
                try:
                    asyncio.run(self._evaluate(self._judge(device), entry))
                except SolBenchError as error:
                    self._over(entry, "failed", str(error))
                except Exception as error:  # noqa: BLE001 - boundary: one job's bug must not end the queue
                    self._over(entry, "failed", f"internal error: {type(error).__name__}: {error}")
                    self._end_judge(device)
        finally:
            self._end_judge(device)

    def _next(self, device: str) -> _Entry | None:
        with self._changed:
            while True:
                entry = self._queues[device].take()
                if entry is not None:
                    entry.state = "running"
                    self._changed.notify_all()
                    return entry
                if self.stopping:
                    return None
                self._changed.wait()

    async def _evaluate(self, judge: EvaluatesAsync, entry: _Entry) -> None:
        loop, asked = asyncio.get_running_loop(), entry.submission

        def keep(trace: Trace) -> None:
            with self._changed:
                entry.traces.append(trace)

        task = asyncio.ensure_future(
            judge.aevaluate(
                entry.problem,
                asked.solution,
                workloads=asked.workloads,
                on_trace=keep,
                hardware=asked.hardware,
                mode=asked.mode,
                timeout_s=asked.timeout_s,
                require_jail=asked.require_jail,
                require_admission=asked.require_admission,
            )
        )
        with self._changed:
            entry.cancel = partial(_cancel, loop, task)
            if entry.unwanted:
                task.cancel()
        try:
            result = await task
        except asyncio.CancelledError:
            self._over(entry, "cancelled", "cancelled while it ran")
            return
        entry.passed, entry.score = result.passed, result.score
        entry.traces = list(result.traces)
        self._over(entry, "done", None)

    def _over(self, entry: _Entry, state: State, error: str | None) -> None:
        with self._changed:
            self._finish(entry, state, error)

    def _finish(self, entry: _Entry, state: State, error: str | None) -> None:
        entry.state, entry.error, entry.cancel = state, error, None
        over = [each.id for each in self._jobs.values() if each.state in FINISHED]
        for job_id in over[: max(0, len(over) - _MOST_FINISHED)]:
            del self._jobs[job_id]
        self._changed.notify_all()

    def _job(self, entry: _Entry, *, whole: bool) -> Job:
        position = None
        if entry.state == "queued":
            position = next(
                number for number, each in enumerate(self._queues[entry.device]) if each is entry
            )
        return Job(
            id=entry.id,
            state=entry.state,
            position=position,
            client=entry.client,
            device=entry.device,
            problem=entry.problem.name,
            solution=entry.submission.solution.name,
            error=entry.error,
            passed=entry.passed,
            score=entry.score,
            traces=tuple(entry.traces) if whole else (),
        )


def _cancel(loop: asyncio.AbstractEventLoop, task: asyncio.Future[Any]) -> None:
    loop.call_soon_threadsafe(task.cancel)
