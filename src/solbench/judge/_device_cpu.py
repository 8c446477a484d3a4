"""The CPU as a device: a worker that is stopped between calls, and the judge's wall clock."""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import platform
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import torch

from solbench.errors import DeviceError
from solbench.jail import Reply, Worker
from solbench.jail.protocol import Command, Layout
from solbench.judge._arena_cpu import CpuArena, late_write
from solbench.judge._device import Advice, Arena, Passage, Run
from solbench.judge._sampling import PerRun
from solbench.judge._statistics import BUDGETS


@dataclass(frozen=True, slots=True)
class _Ran:
    """How much a thread has run, by the kernel's account."""

    switches: int
    """How often it has left a processor."""
    running: bool
    """It is on one, or wants to be."""
    processor_ns: int
    """0 where the kernel keeps no account."""


Account: TypeAlias = dict[int, _Ran]
"""By thread."""
_SETTLING_LOOKS: Final = 100
_SWITCHES: Final = re.compile(rb"^(?:non)?voluntary_ctxt_switches:\t(\d+)$", re.MULTILINE)

_LAST_STEPS_NS: Final = 50_000
"""On a busy machine a thread that is marked stopped may stand in line for a processor once more, for its last
steps in the kernel (a microsecond or two): it then leaves a processor again, and has done nothing."""

_SLOW_STOP_NS: Final = 2_000_000
"""A worker stops within some ten microseconds; what takes longer than this counts as time of the call."""

_WAIT_NS: Final = 20_000
_WAIT_SHARE: Final = 0.02
"""A run that stood in line for a processor longer than this is not timed."""

_ADVICE_CHARS: Final = 2000
_FALLBACK_L3_BYTES: Final = 32 << 20
_LARGEST_FLUSH_BYTES: Final = 256 << 20


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
        """Stop the worker, and keep it off the judge's core, so that the judge's spinning does not slow it.

        In this order: threads that start one another and end would pass by a list of them, and have a
        core more than the reference.
        """
        self._stop(worker)
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            for task in Path(f"/proc/{worker.pid}/task").glob("[0-9]*"):
                # A thread, or the worker, may be gone by now; and a sandbox may forbid it.
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(task.name), cores[1:])
            self._note_account(worker)

    def _stop(self, worker: Worker) -> None:
        worker.freeze()
        self._note_account(worker)

    def _note_account(self, worker: Worker) -> None:
        self._held[worker.pid] = _settled_account(worker.pid)

    def ran_while_held(self, worker: Worker) -> str:
        """A stopped thread can arrange to be continued (a timer that sends SIGCONT); the kernel
        counts its switches."""
        before, now = self._held.get(worker.pid), _account(worker.pid)
        if before is None or not _has_run(before, now):
            return ""
        then, since = (
            {thread: ran.switches + ran.running for thread, ran in account.items()}
            for account in (before, now)
        )
        return f"context switches of its threads while it was stopped: {then} became {since}"

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
            late_write(at_done, probe.read()),
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
    """Of every thread. It cannot run without leaving a processor again, or being seen running."""
    account: dict[int, _Ran] = {}
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        # A thread may be gone by now, which is a change as well.
        with contextlib.suppress(OSError):
            # Whole lines, of bytes: a thread may give itself any name that has no line feed.
            text = status.read_bytes()
            switches = sum(map(int, _SWITCHES.findall(text)))
            running = b"\nState:\tR" in text
            account[int(status.parent.name)] = _Ran(switches, running, _processor_ns(status.parent))
    return account


def _processor_ns(thread: Path) -> int:
    """Time that a thread has had a processor; 0 where the kernel keeps no account."""
    try:
        return int((thread / "schedstat").read_text().split()[0])
    except (OSError, IndexError):
        return 0


def _has_run(before: Account, now: Account) -> bool:
    """Whether a stopped worker did anything: more than the last steps of threads on their way to standing
    still."""
    if before.keys() != now.keys():
        return True
    changed = [thread for thread in before if before[thread] != now[thread]]
    if not any(now[thread].processor_ns for thread in changed):
        return bool(changed)
    if any(now[thread].running for thread in changed):
        return True
    had_ns = sum(now[thread].processor_ns - before[thread].processor_ns for thread in changed)
    return had_ns > _LAST_STEPS_NS


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
