"""What the judge asks of a device: buffers, a flush, and a clock of its own.

A pass over a worker has two halves, the same on every device. :meth:`Device.hold` gets the worker
ready and unable to go on; then the inputs come into being; :meth:`Device.release` lets it go and
times it. On CPU the worker is stopped in between; on CUDA its calls are queued behind a wait in its
stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch

from solbench.errors import InputError
from solbench.jail import DeviceMemory, Reply, SlotBuffers, Worker
from solbench.jail.protocol import Layout
from solbench.judge._layouts import ArgumentValue
from solbench.judge._sampling import Sampling
from solbench.judge._statistics import Budget

Poison = Literal["zeros", "random"]


@dataclass(frozen=True, slots=True)
class Run:
    """Which calls of a worker: ``count`` consecutive slots of one layout, from ``first``."""

    layout: int
    first: int
    count: int

    @property
    def slots(self) -> range:
        return range(self.first, self.first + self.count)


@dataclass(frozen=True, slots=True)
class Passage:
    """How a released run ended, by the judge's clock."""

    reply: Reply
    elapsed_ms: float
    """Of the whole run, nothing subtracted. Meaningless unless the reply is ok."""
    lost_share: float = 0.0
    """Share of the time in which something else had the processor, or clocks were throttled; 0
    where that is too little to matter. The outputs count, the time does not."""
    late_write: str = ""
    """Evidence that outputs were still changing after the worker said it was done."""
    looked_ms: float = 0.0
    """Until the judge had the device back: a second clock, which the worker cannot write; 0 where there is
    none."""
    looked_at_once: bool = False
    """The judge got the device as soon as the worker was done; else only after the worker had said so."""


@dataclass(frozen=True, slots=True)
class Advice:
    """From untrusted territory: good for reading, never for ranking."""

    kernels: int
    busy_ms: float
    """Time in which any of them ran; 0 where there are none."""
    log: str
    """The end of the worker's log, where their names are, or those of a CPU's operations."""


class Arena(Protocol):
    """The buffers of one worker and layout, as the judge sees them."""

    layout: Layout

    def buffers(self) -> Sequence[SlotBuffers]:
        """What the worker is given, slot by slot; empty where memory travels as handles."""

    def device_memory(self) -> DeviceMemory | None:
        """CUDA: the handles that the worker is given."""

    def show(self, inputs: Mapping[str, ArgumentValue]) -> None:
        """Let the worker see these throwaway values in every slot, and zeros as outputs."""

    def fill(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> None:
        """Write the tensors of a call."""

    def kept(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> dict[str, ArgumentValue]:
        """The inputs just filled, in the judge's own copy where the arena has one; else as they are."""

    def poison(self, slots: range, pattern: Poison) -> None:
        """Overwrite the outputs and renew the guard bytes."""

    def outputs(self, slot: int) -> dict[str, torch.Tensor]:
        """Views of the outputs as they are now."""

    def broken_guard(self, slots: range) -> str:
        """Where guard bytes changed, in words; empty if all stand."""

    def changed_inputs(self, slots: range, values: Sequence[Mapping[str, ArgumentValue]]) -> str:
        """An input that the worker changed; empty if none, or where it cannot."""

    def close(self) -> None: ...


class Device(Protocol):
    """One device with its clock."""

    name: str
    """As given by the user: ``cpu``, ``cuda:0``."""
    clock: str
    """Name of the clock that times a run: ``host``, ``drain``, ``event``."""
    verified: bool
    """The clock is the judge's own."""
    hot: bool
    """Caches are left as the delivery of the inputs leaves them. Recorded, never ranked."""
    interleaves: bool
    """The reference takes turns with the candidate on the same inputs. Where it does not, it is timed by
    itself, before there is a candidate, and a control shows drift."""
    queues: bool
    """Runs wait in a queue of the device's own, and what they cost depends on the worker a little."""
    reuses_memory: bool
    """What the slots of a layout hold is gone when those of another layout are used: values are shown anew
    before each use."""
    errors_stick: bool
    """A call that failed may have left its process unable to do anything right: it is replaced."""
    names_kernels: bool
    """The worker's profiler names kernels, which tell whose work they are: `rank` asks it unasked."""
    shares_cores: bool
    """Its work runs on the processor's cores: nothing else may, while a peak or a time is measured."""
    buffer_multiple: int
    """Sizes of input and output buffers are multiples of it."""
    max_slots: int
    slot_budget_bytes: int
    """Memory that the slots of one workload may take together, unless two slots need more."""
    single_bytes: float
    """A workload whose call takes more has one slot only."""
    worker_base_bytes: int
    """Resident memory of a worker before it holds any buffer, and room to work."""
    oracle_device: str
    """Where inputs and expected outputs are made."""

    @property
    def sampling(self) -> Sampling:
        """How times of runs become the latency of a call."""

    @property
    def budgets(self) -> Mapping[str, Budget]:
        """How long to measure, by mode: clocks differ in how many samples they need."""

    def title(self) -> str:
        """The device's name for the environment record."""

    def hardware(self) -> str:
        """Name of the hardware file whose bound suits this device."""

    def libraries(self) -> dict[str, str]:
        """Versions that matter on this device."""

    def arena(
        self, layout: Layout, sharing: Arena | None = None, beside: Arena | None = None
    ) -> Arena:
        """New buffers. With ``sharing``, the inputs are that arena's own where the device allows it.
        ``beside``: an arena that is not used at the same time; where the device reuses memory, the buffers lie
        in that arena's. Raises ``MemoryError`` or ``OSError`` where there is no room."""

    def settle(self, worker: Worker) -> None:
        """Once, after sealing: pin the worker, or whatever steadies the clock."""

    def most_calls(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> int:
        """How many calls of this run can be held at once; it may try, on what the slots hold."""

    def hold(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Reply:
        """Bring the worker to where only :meth:`release` lets it go on."""

    def flush(self) -> None:
        """Leave caches cold and clean for the release that follows, or have that release do it."""

    def rehearse(self, worker: Worker) -> None:
        """Where a call alone would find its code cold: let a held worker make it once on what its slot holds,
        when the inputs are ready but not delivered. No one looks at the time or the outputs of that."""

    def release(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Passage:
        """Let the held worker run, time it, and stop it again."""

    def ran_while_held(self, worker: Worker) -> str:
        """Evidence that a held worker went on by itself, in words; empty if it did not, or where
        that is no use."""

    def advice(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Advice | None:
        """What the worker's own profiler says of one call; ``None`` where it fails. The
        worker is not to be timed afterwards."""

    def readings(self) -> dict[str, float]:
        """Clocks, temperature and power, where they can be read; else empty."""

    def notes(self, worker: Worker) -> dict[str, str]:
        """What was seen of how a worker runs: flag id → evidence."""

    def close(self) -> None: ...


def open_device(name: str, *, hot: bool = False) -> Device:
    """The device of this name; ``hot`` leaves its caches alone. Raises ``InputError`` for a name that is
    none, ``DeviceError`` for a device that is missing."""
    if name == "cpu":
        from solbench.judge._device_cpu import CpuDevice

        return CpuDevice(hot=hot)
    if re.fullmatch(r"cuda(:\d+)?", name):
        from solbench.judge._device_cuda import CudaDevice

        return CudaDevice(name if ":" in name else "cuda:0", hot=hot)
    raise InputError(f"unknown device '{name}'", remedy="Use cpu, or cuda:N.")
