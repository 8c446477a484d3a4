"""The CPU as a device: memfds, a worker that is stopped between calls, and the judge's wall clock.

Inputs lie in memfds that are sealed against any further writing but the judge's own mapping; the
worker maps them privately, so the judge's bytes cannot be changed. Outputs lie in memfds that both
sides map.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import mmap
import os
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import torch

from solbench.errors import DeviceError
from solbench.jail import Reply, SlotBuffers, Worker
from solbench.jail.protocol import Command, Layout
from solbench.judge._device import Advice, Arena, Passage, Poison, Run
from solbench.judge._layouts import (
    ArgumentValue,
    bytes_of,
    guard_ranges,
    tensor_arguments,
    tensor_view,
)
from solbench.judge._sampling import PerRun
from solbench.judge._statistics import BUDGETS

ByteArray: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]"
PositionArray: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"

Account: TypeAlias = dict[int, int]
_SETTLING_LOOKS: Final = 100

# Python 3.11 and 3.12 do not name this one (linux/fcntl.h).
F_SEAL_FUTURE_WRITE: Final = 0x10
_INPUT_SEALS: Final = F_SEAL_FUTURE_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_OUTPUT_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW

PROBE_BYTES: Final = 64
"""Output bytes read before the clock stops. A share f that is written later is missed with
probability (1 - f) ** 64 in one call: half the time at one in a hundred, and every timed call is
probed anew."""

_SLOW_STOP_NS: Final = 2_000_000
"""A worker stops within some ten microseconds; what takes longer than this counts as time of the call."""

_WAIT_NS: Final = 20_000
_WAIT_SHARE: Final = 0.02
"""A run that stood in line for a processor longer than this is not timed."""

_ADVICE_CHARS: Final = 2000
_FALLBACK_L3_BYTES: Final = 32 << 20
_LARGEST_FLUSH_BYTES: Final = 256 << 20


class _Mapped:
    """A memfd and the judge's shared, writable mapping of it."""

    def __init__(self, name: str, size: int, seals: int) -> None:
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self._map = mmap.mmap(self.fd, size)
        # Sealed after mapping: F_SEAL_FUTURE_WRITE spares mappings that exist.
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    def close(self) -> None:
        """Give the descriptor back, and the mapping with its last view: not only when the garbage collector
        finds the evaluation that it served."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self.bytes = torch.empty(0, dtype=torch.uint8)
            del self._map


class CpuArena:
    """Slots in memfds."""

    def __init__(self, layout: Layout, sharing: CpuArena | None = None) -> None:
        self.layout = layout
        self._owns_inputs = sharing is None
        self._inputs: list[_Mapped] = (
            [_Mapped("inputs", layout.input_bytes, _INPUT_SEALS) for _ in range(layout.slots)]
            if sharing is None
            else sharing._inputs
        )
        self._outputs = [
            _Mapped("outputs", layout.output_bytes, _OUTPUT_SEALS) for _ in range(layout.slots)
        ]
        # Not torch's own generator, whose first seed everyone knows.
        self._noise = torch.Generator().manual_seed(
            int.from_bytes(os.urandom(8), "little", signed=True)
        )
        self._guards = [
            (start, end, _random_bytes(end - start)) for start, end in guard_ranges(layout)
        ]

    def buffers(self) -> list[SlotBuffers]:
        pairs = zip(self._inputs, self._outputs, strict=True)
        return [SlotBuffers(inputs.fd, outputs.fd) for inputs, outputs in pairs]

    def device_memory(self) -> None:
        """None: descriptors are passed."""

    def show(self, inputs: Mapping[str, ArgumentValue]) -> None:
        for slot in range(self.layout.slots):
            self.fill(slot, inputs)
        self.poison(range(self.layout.slots), "zeros")

    def kept(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> dict[str, ArgumentValue]:
        return dict(inputs)

    def fill(self, slot: int, inputs: Mapping[str, ArgumentValue]) -> None:
        if not self._owns_inputs:
            return
        buffer = self._inputs[slot].bytes
        for field in tensor_arguments(self.layout):
            buffer[field.offset : field.offset + field.nbytes] = bytes_of(inputs[field.name])

    def poison(self, slots: range, pattern: Poison) -> None:
        for slot in slots:
            self._poison(self._outputs[slot].bytes, pattern)

    def _poison(self, buffer: torch.Tensor, pattern: Poison) -> None:
        for field in self.layout.outputs:
            piece = buffer[field.offset : field.offset + field.nbytes]
            if pattern == "zeros":
                piece.zero_()
            else:
                piece.random_(0, 256, generator=self._noise)
        for start, end, guard in self._guards:
            buffer[start:end] = guard

    def outputs(self, slot: int) -> dict[str, torch.Tensor]:
        buffer = self._outputs[slot].bytes
        return {field.name: tensor_view(buffer, field) for field in self.layout.outputs}

    def broken_guard(self, slots: range) -> str:
        for slot in slots:
            buffer = self._outputs[slot].bytes
            for start, end, guard in self._guards:
                off = buffer[start:end] != guard
                if bool(off.any()):
                    return f"byte {start + int(off.to(torch.uint8).argmax())} of the output buffer"
        return ""

    def changed_inputs(self, slots: range, values: Sequence[Mapping[str, ArgumentValue]]) -> str:
        """Always empty: the worker's mapping is private and the memfd is sealed."""
        return ""

    def probe(self, run: Run) -> Probe:
        """Positions to read when the worker says done, spread over the outputs of all slots of a
        run."""
        return Probe([self._outputs[slot].bytes.numpy() for slot in run.slots], self.layout)

    def close(self) -> None:
        for mapped in self._outputs:
            mapped.close()
        if self._owns_inputs:
            for mapped in self._inputs:
                mapped.close()


class Probe:
    """A quick look at a few output bytes, prepared before the clock starts."""

    def __init__(self, buffers: Sequence[ByteArray], layout: Layout) -> None:
        self._buffers = buffers
        each = max(1, PROBE_BYTES // len(buffers))
        self._positions = [_random_positions(layout, each) for _ in buffers]

    def read(self) -> list[ByteArray]:
        """The bytes there now."""
        pairs = zip(self._buffers, self._positions, strict=True)
        return [buffer.take(positions) for buffer, positions in pairs]


def _random_positions(layout: Layout, count: int) -> PositionArray:
    """Offsets of output bytes from the operating system's entropy: ``count`` that are each equally
    likely, and as many from outputs that are each equally likely, however small."""
    fields = [field for field in layout.outputs if field.nbytes]
    if not fields:
        return np.zeros(0, dtype=np.int64)
    random = np.random.default_rng()
    sizes = np.array([field.nbytes for field in fields])
    starts = np.array([field.offset for field in fields])
    which = np.concatenate(
        [
            random.choice(len(fields), count, p=sizes / sizes.sum()),
            random.integers(0, len(fields), count),
        ]
    )
    positions: PositionArray = starts[which] + random.integers(0, sizes[which])
    return positions


class CpuDevice:
    """Evaluation on the machine's own cores: good for trying things, never ranked."""

    name = "cpu"
    clock = "host"
    verified = True
    interleaves = True
    queues = False
    reuses_memory = False
    errors_stick = False
    names_kernels = False
    shares_cores = True
    sampling = PerRun()
    budgets = BUDGETS
    buffer_multiple = mmap.PAGESIZE
    max_slots = 16
    slot_budget_bytes = 8 << 20
    single_bytes = math.inf
    worker_base_bytes = 2 << 30
    oracle_device = "cpu"

    def __init__(self, *, hot: bool = False) -> None:
        self.hot = hot
        if platform.system() != "Linux":
            raise DeviceError(
                "evaluation needs Linux (memfd, Landlock, seccomp); bounds and reports work here"
            )
        cache_bytes = min(last_level_cache_bytes(), _LARGEST_FLUSH_BYTES // 2)
        self._dirty = np.zeros(2 * cache_bytes, dtype=np.uint8)
        self._clean = np.ones(cache_bytes // 8, dtype=np.int64)
        self._turn = 0
        self._held: dict[int, Account] = {}

    def title(self) -> str:
        return cpu_title()

    def hardware(self) -> str:
        return "cpu"

    def libraries(self) -> dict[str, str]:
        return {"torch": torch.__version__, "python": platform.python_version()}

    def arena(
        self, layout: Layout, sharing: Arena | None = None, beside: Arena | None = None
    ) -> CpuArena:
        assert sharing is None or isinstance(sharing, CpuArena)
        return CpuArena(layout, sharing)

    def settle(self, worker: Worker) -> None:
        """Keep the worker off the judge's core, so that the judge's spinning does not slow it, and
        stop it."""
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            for task in Path(f"/proc/{worker.pid}/task").glob("[0-9]*"):
                # A thread, or the worker, may be gone by now; and a sandbox may forbid it.
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(task.name), cores[1:])
        self._stop(worker)

    def _stop(self, worker: Worker) -> None:
        worker.freeze()
        self._note_account(worker)

    def _note_account(self, worker: Worker) -> None:
        self._held[worker.pid] = _settled_account(worker.pid)

    def ran_while_held(self, worker: Worker) -> str:
        """A stopped thread can arrange to be continued (a timer that sends SIGCONT); the kernel
        counts its switches."""
        before, now = self._held.get(worker.pid), _account(worker.pid)
        if before is None or before == now:
            return ""
        return f"context switches of its threads while it was stopped: {before} became {now}"

    def most_calls(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> int:
        """All: nothing is queued."""
        return run.count

    def hold(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Reply:
        worker.thaw()
        sequence = worker.command(Command.ARM, layout=run.layout, first=run.first, count=run.count)
        reply = worker.wait(sequence, timeout_s)
        if reply.kind == "done":
            self._stop(worker)
        return reply

    def rehearse(self, worker: Worker) -> None:
        """Runs hold several calls, and flushes leave code as cold as data in all of them."""

    def flush(self) -> None:
        """Write twice the last-level cache, then read once its size from a buffer that is never
        written.

        Writing alone would leave dirty lines that the timed call must evict.
        """
        if self.hot:
            return
        self._turn = (self._turn + 1) % 251
        self._dirty.fill(self._turn)
        self._clean.sum()

    def release(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Passage:
        """Time from just before the worker may go on to the moment the judge sees its
        acknowledgement."""
        assert isinstance(arena, CpuArena)
        probe = arena.probe(run)
        waited_ns = _waited_ns(worker.pid)
        sequence = worker.command(Command.RUN, layout=run.layout, first=run.first, count=run.count)
        start_ns = time.perf_counter_ns()
        worker.thaw()
        reply = worker.wait(sequence, timeout_s)
        if reply.kind != "done":
            return Passage(reply, 0.0)
        at_done = probe.read()
        acknowledged_ns = time.perf_counter_ns()
        worker.freeze()
        stopped_ns = time.perf_counter_ns()
        self._note_account(worker)
        elapsed_ns, lost_share = _elapsed(start_ns, acknowledged_ns, stopped_ns)
        waited_ns = _waited_ns(worker.pid) - waited_ns
        return Passage(
            reply,
            elapsed_ns / 1e6,
            max(lost_share, _lost_share(waited_ns, elapsed_ns)),
            _late(at_done, probe.read()),
        )

    def advice(self, worker: Worker, arena: Arena, run: Run, timeout_s: float) -> Advice | None:
        if not self.hold(worker, arena, run, timeout_s).ok:
            return None
        sequence = worker.command(
            Command.PROFILE, layout=run.layout, first=run.first, count=run.count
        )
        worker.thaw()
        reply = worker.wait(sequence, timeout_s)
        if reply.kind == "done":
            self._stop(worker)
        return Advice(0, 0.0, worker.log_tail()[-_ADVICE_CHARS:]) if reply.ok else None

    def readings(self) -> dict[str, float]:
        return {}

    def notes(self, worker: Worker) -> dict[str, str]:
        return {}

    def close(self) -> None:
        """Nothing is held beyond memory."""


def _account(pid: int) -> Account:
    """Thread → how often it has left a processor. It cannot run without leaving again, or being
    seen running."""
    account: dict[int, int] = {}
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        # A thread may be gone by now, which is a change as well.
        with contextlib.suppress(OSError):
            lines = status.read_text().splitlines()
            switches = [int(line.split()[1]) for line in lines if "ctxt_switches:" in line]
            running = any(line.startswith("State:\tR") for line in lines)
            account[int(status.parent.name)] = sum(switches) + running
    return account


def _settled_account(pid: int) -> Account:
    """The account once it no longer changes: a thread is marked stopped a moment before its last
    switch counts."""
    account = _account(pid)
    for _ in range(_SETTLING_LOOKS):
        latest = _account(pid)
        if latest == account:
            break
        account = latest
    return account


def _waited_ns(pid: int) -> int:
    """How long the worker's threads and this one have stood in line for a processor, by the
    kernel's account.

    A submission can only ever get its own samples dropped by this, never make one count that is not
    its time.
    """
    accounts = [Path("/proc/thread-self/schedstat"), *Path(f"/proc/{pid}/task").glob("*/schedstat")]
    waited = 0
    for account in accounts:
        # A thread may be gone, and some kernels keep no account.
        with contextlib.suppress(OSError, IndexError):
            waited += int(account.read_text().split()[1])
    return waited


def _lost_share(waited_ns: int, elapsed_ns: int) -> float:
    return waited_ns / elapsed_ns if waited_ns > max(_WAIT_NS, _WAIT_SHARE * elapsed_ns) else 0.0


def _elapsed(start_ns: int, acknowledged_ns: int, stopped_ns: int) -> tuple[int, float]:
    """Time of a run, and the share of it that makes it count only where there is no better sample.

    Threads that would not stop may have worked on: then the call was over when they stood still.
    """
    stopping_ns = stopped_ns - acknowledged_ns
    if stopping_ns <= _SLOW_STOP_NS:
        return acknowledged_ns - start_ns, 0.0
    elapsed_ns = stopped_ns - start_ns
    return elapsed_ns, stopping_ns / elapsed_ns


def _late(at_done: list[ByteArray], frozen: list[ByteArray]) -> str:
    changed = sum(int((now != then).sum()) for then, now in zip(at_done, frozen, strict=True))
    if not changed:
        return ""
    probed = sum(len(each) for each in frozen)
    return f"{changed} of {probed} output bytes probed at the acknowledgement changed after it"


def _random_bytes(count: int) -> torch.Tensor:
    return torch.frombuffer(bytearray(os.urandom(count)), dtype=torch.uint8)


def last_level_cache_bytes() -> int:
    """Size of the largest cache that core 0 reports; 32 MiB where nothing is reported."""
    sizes = [
        _cache_size(path) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    ]
    return max(sizes, default=_FALLBACK_L3_BYTES)


def _cache_size(path: Path) -> int:
    text = path.read_text().strip()
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def cpu_title() -> str:
    """The processor's name with its core count, as the machine reports it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()} ({os.cpu_count()} cores)"
