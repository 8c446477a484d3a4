"""The judge's view of the jail: what a worker is asked and what may come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from solbench.jail.protocol import Artifact, Layout, Status


@dataclass(frozen=True, slots=True)
class Limits:
    memory_bytes: int = 4 << 30
    """Resident memory of the worker, inputs and outputs included."""
    load_s: float = 60.0
    meet_s: float = 120.0
    """Covers compilation inside the worker (Triton, ``torch.compile``)."""
    call_s: float = 30.0
    log_bytes: int = 64 << 10
    """Kept tail of stdout and stderr; the rest is discarded while it arrives."""
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Walls:
    """Which layers stand, as seen from *outside* the worker: name → ``""``, or why it does not."""

    layers: dict[str, str]
    sealed: bool = False

    @property
    def complete(self) -> bool:
        return self.sealed and not any(self.layers.values())


@dataclass(frozen=True, slots=True)
class Reply:
    """How a command ended. Exactly one of the kinds; ``status`` counts only for ``done``."""

    kind: Literal["done", "died", "timeout", "memory"]
    status: Status = Status.OK
    detail: str = ""
    """For ``died``: the signal or exit code, in words."""
    seen_ns: int = 0
    """``time.perf_counter_ns()`` of the judge when it saw the reply."""

    @property
    def ok(self) -> bool:
        return self.kind == "done" and self.status == Status.OK


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """CUDA: IPC handles, in hex, of one layout's allocations. All slots lie one behind the other.

    A handle exposes its whole allocation, so nothing else may live in it.
    """

    inputs: str
    outputs: str


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Everything a worker is given at birth. CPU buffers are passed as descriptors beside it."""

    artifact: Artifact
    layouts: tuple[Layout, ...]
    device: str
    limits: Limits = field(default_factory=Limits)
    device_memory: tuple[DeviceMemory, ...] = ()
    """CUDA: one for each layout."""


@dataclass(frozen=True, slots=True)
class SlotBuffers:
    """CPU: two memfds of one slot. Inputs are sealed against future writes by anyone but the judge's map."""

    inputs_fd: int
    outputs_fd: int


class Worker(Protocol):
    """One jailed process. Commands are strictly one at a time."""

    pid: int

    def command(self, command: int, *, layout: int = 0, first: int = 0, count: int = 1) -> int:
        """Ring the doorbell; returns the sequence number. Does not wait."""

    def wait(self, sequence: int, timeout_s: float) -> Reply:
        """Spin until the worker answers, dies, outgrows its memory, or time is up. Drains the log meanwhile."""

    def finished(self, sequence: int, timeout_s: float) -> Reply | None:
        """CUDA: wait for the stream of a queued run to get past its last call; ``None`` if it does not in time,
        and the worker is left as it is."""

    def claims(self, count: int) -> list[int]:
        """The worker's own nanoseconds of the last ``count`` calls: advice only."""

    def forget_claims(self, count: int) -> None:
        """Set the next claims to 0."""

    def answers(self, sequence: int, timeout_s: float) -> bool:
        """Whether it answers in time. Unlike ``wait``, a worker that does not is left as it is."""

    def death(self, timeout_s: float) -> Reply | None:
        """How it ended, if it has or does so in time; ``None`` for one that lives on."""

    def release(self, sequence: int) -> None:
        """CUDA: let the run that was queued by this command start."""

    def freeze(self) -> None:
        """Stop every thread of the worker; returns when all are stopped."""

    def thaw(self) -> None:
        """Let it go on. The cost until the worker sees its page is part of the calibrated timer floor."""

    def walls(self) -> Walls:
        """Read from ``/proc`` by the judge: filters on, no descendants left."""

    def log_tail(self) -> str: ...

    def kill(self) -> None:
        """End the worker and everything it started. Idempotent."""


class Zygote(Protocol):
    """A process that has imported torch and never runs an operation; workers are its forks."""

    def spawn(self, plan: WorkerPlan, buffers: Sequence[Sequence[SlotBuffers]]) -> Worker:
        """Fork a worker behind its first walls. ``buffers[layout][slot]``."""

    def await_ready(self) -> None:
        """Until it has imported torch. One that dies meanwhile is noticed by the first spawn."""

    def close(self) -> None: ...
