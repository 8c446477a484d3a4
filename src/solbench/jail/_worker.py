"""The judge's handle on one worker."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from solbench.jail import _processes
from solbench.jail._files import Files
from solbench.jail._removal import remove_tree
from solbench.jail._types import Limits, Reply, Walls
from solbench.jail._unmapped import Unmapped
from solbench.jail.protocol import CLAIM_COUNT, PAGE_BYTES, Command, Field, Status

_SPIN_LOOKS = 200
"""Looks at the page between two looks at the clock (some 15 µs)."""
_HOUSEKEEPING_NS = 5_000_000
"""Rare, since an answer that comes meanwhile is seen some ten microseconds late."""
_MEMORY_EVERY_NS = 5_000_000
_TREE_EVERY_NS = 100_000_000
_NAP_AFTER_NS = 50_000_000
_NAP_SHARE = 1000
"""A long wait naps for a thousandth of what has passed: it spares a core and costs 0.1 %."""
_LONGEST_NAP_S = 2e-3
_FREEZE_S = 2.0
_RESEND_S = 0.005
_LOG_READS = 16
_EXIT_S = 1.0
_REMOVAL_S = 2.0
"""Of what a worker leaves; the rest goes with the zygote's folder."""


class JailedWorker:
    """One jailed process behind its walls. Commands are strictly one at a time; not thread-safe.

    Nothing that the worker does raises here: it becomes a ``Reply``.
    """

    def __init__(
        self,
        *,
        pid: int,
        pidfd: int,
        page: mmap.mmap,
        log_fd: int,
        scratch: Path,
        limits: Limits,
        layers: dict[str, str],
        base_filters: int,
        exit_status: Callable[[int, float], int | None],
    ) -> None:
        self.pid = pid
        self._pidfd = pidfd
        self._page = page
        self._fields = memoryview(page).cast("q")
        self._log_fd = log_fd
        self._log = bytearray()
        self._scratch = scratch
        self._files = Files(scratch)
        self._unmapped = Unmapped()
        self._limits = limits
        self._layers = layers
        self._base_filters = base_filters
        self._exit_status = exit_status
        self._sequence = 0
        self._command = 0
        self._clean = False
        """Seen to be sealed and alone: it cannot have started anything since."""
        self._end: Reply | None = None
        self._next_memory_ns = 0
        self._next_tree_ns = 0
        own = _processes.namespace("self", "user")
        found = _processes.namespace(pid, "user")
        self._user_namespace = found if found != own else ""
        self._poll = select.poll()
        self._poll.register(pidfd, select.POLLIN)

    def command(self, command: int, *, layout: int = 0, first: int = 0, count: int = 1) -> int:
        """Ring the doorbell; returns the sequence number. Does not wait."""
        fields = self._fields
        self._command = command
        self._sequence += 1
        fields[Field.COMMAND] = command
        fields[Field.LAYOUT] = layout
        fields[Field.FIRST_SLOT] = first
        fields[Field.COUNT] = count
        fields[Field.SEQUENCE] = self._sequence  # last: the worker acts on it
        return self._sequence

    def wait(self, sequence: int, timeout_s: float) -> Reply:
        """Spin until the worker answers, dies, outgrows its memory, or time is up.

        A worker that did not answer is killed: it cannot be given another command.
        """
        reply = self._await(int(Field.DONE), sequence, timeout_s)
        return reply or self._finish("timeout", f"no answer within {timeout_s:g} s")

    def finished(self, sequence: int, timeout_s: float) -> Reply | None:
        """CUDA: like ``wait``, for the moment when the stream of a queued run gets past its last call. ``None``
        if that takes longer, or will never be since a kernel failed; the worker is left as it is."""
        return self._await(int(Field.FINISHED), sequence, timeout_s)

    def _await(self, field: int, sequence: int, timeout_s: float) -> Reply | None:
        if self._end is not None:
            return self._end
        fields, began = self._fields, time.perf_counter_ns()
        deadline = began + int(timeout_s * 1e9)
        next_look = began + _HOUSEKEEPING_NS
        while True:
            for _ in range(_SPIN_LOOKS):
                if fields[field] == sequence:  # the timed path
                    return self._seen(field, time.perf_counter_ns())
            now = time.perf_counter_ns()
            if now >= next_look:
                reply = self._housekeep(now, field, sequence)
                if reply is not None:
                    return reply
                if now >= deadline:
                    return None
                if now - began > _NAP_AFTER_NS:
                    time.sleep(min((now - began) / _NAP_SHARE / 1e9, _LONGEST_NAP_S))
                next_look = now + _HOUSEKEEPING_NS

    def answers(self, sequence: int, timeout_s: float) -> bool:
        """Whether it answers in time. Unlike ``wait``, a worker that does not is left as it is."""
        deadline = time.monotonic() + timeout_s
        while self._fields[Field.DONE] != sequence:
            if self._end is not None or self._dead():
                return True  # wait() knows more at once
            if time.monotonic() > deadline:
                return False
            self._drain_log()
        return True

    def _answered(self, seen_ns: int) -> Reply:
        value = self._fields[Field.STATUS]
        self._drain_log()
        if (excess := self._check_memory(seen_ns)) is not None:
            return excess
        try:
            status = Status(value)
        except ValueError:
            return Reply("done", Status.INTERNAL, f"status {value} does not exist", seen_ns)
        if self._command == Command.SEAL and status == Status.OK:
            return self._look_sealed(seen_ns)
        return Reply("done", status, seen_ns=seen_ns)

    def _look_sealed(self, seen_ns: int) -> Reply:
        """The worker says that it is sealed; believe what can be seen."""
        self._signal_all(signal.SIGSTOP)
        _processes.end_all(self._descendants)
        walls = self.walls()
        self._signal(signal.SIGCONT)
        self._clean = walls.sealed
        if not walls.sealed and not self._layers.get("seccomp"):
            return self._finish("died", "killed: it claimed to be sealed, and it is not")
        return Reply("done", Status.OK, seen_ns=seen_ns)

    def _seen(self, field: int, seen_ns: int) -> Reply:
        return self._answered(seen_ns) if field == Field.DONE else Reply("done", seen_ns=seen_ns)

    def _housekeep(self, now: int, field: int, sequence: int) -> Reply | None:
        self._drain_log()
        if self._dead():
            if self._fields[field] == sequence:
                return self._seen(field, now)
            return self._finish("died", self._cause_of_death())
        return self._check_memory(now)

    def _check_memory(self, now: int) -> Reply | None:
        """From time to time: what the worker holds, in memory and in files."""
        if now < self._next_memory_ns:
            return None
        self._next_memory_ns = now + _MEMORY_EVERY_NS
        limit = self._limits.memory_bytes
        used, what = _processes.resident_bytes(self.pid), "resident memory"
        if now >= self._next_tree_ns:
            self._next_tree_ns = now + _TREE_EVERY_NS
            # Until it is sealed, also what it has started.
            others = set() if self._clean else self._descendants()
            used += sum(map(_processes.resident_bytes, others))
            used += sum(map(_processes.page_table_bytes, {self.pid, *others}))
            if (files := self._files.bytes({self.pid, *others}, limit)) > used:
                used, what = files, "files in the scratch folder"
            if (unmapped := self._unmapped.bytes({self.pid, *others}, limit)) > used:
                used, what = unmapped, "shared memory"
        if used <= limit:
            return None
        return self._finish(
            "memory", f"{what} of {used >> 20} MiB passed the limit of {limit >> 20} MiB"
        )

    def _dead(self) -> bool:
        return self._pidfd < 0 or bool(self._poll.poll(0))

    def _cause_of_death(self) -> str:
        status = self._exit_status(self.pid, _EXIT_S)
        if status is None:
            return "killed together with its parent"
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            # Most real-time signals have a number only.
            name = signal.Signals(number).name if number in set(signal.Signals) else "real-time"
            return f"killed by signal {number} ({name})"
        return f"exited with code {os.WEXITSTATUS(status)}"

    def death(self, timeout_s: float) -> Reply | None:
        """How it ended, if it has or does so in time."""
        if self._end is None and self._poll.poll(timeout_s * 1000):
            return self._finish("died", self._cause_of_death())
        return self._end

    @property
    def ended(self) -> bool:
        """Whether it is known to be dead."""
        return self._pidfd < 0

    def _finish(self, kind: Literal["died", "timeout", "memory"], detail: str) -> Reply:
        """Remember how the worker ended; every later wait answers the same."""
        self._end = Reply(kind, detail=detail, seen_ns=time.perf_counter_ns())
        self.kill()
        return self._end

    def release(self, sequence: int) -> None:
        """Let the run that was queued by this command start: its stream reads the page."""
        self._fields[Field.RELEASE] = sequence

    def freeze(self) -> None:
        """Stop every thread; returns when all are stopped. One that cannot be stopped is killed."""
        began = time.monotonic()
        deadline, resend = began + _FREEZE_S, began
        while not self._dead():
            now = time.monotonic()
            if now >= resend:
                self._signal(signal.SIGSTOP)
                _processes.stop_threads(self.pid)
                resend = now + _RESEND_S
            if _processes.all_stopped(self.pid):
                return
            if now > deadline:
                self._finish("died", "killed: it could not be stopped")
                return

    def frozen(self) -> bool:
        """Whether every thread is (still) stopped."""
        return _processes.all_stopped(self.pid)

    def thaw(self) -> None:
        """Let it go on. What it takes until the worker sees its page is part of the timer's floor."""
        self._signal(signal.SIGCONT)

    def forget_claims(self, count: int) -> None:
        """Set the next claims to 0, so that it shows how many calls have been made."""
        for call in range(min(count, CLAIM_COUNT)):
            self._fields[Field.CLAIMS + call] = 0

    def claims(self, count: int) -> list[int]:
        """The worker's own nanoseconds of the last ``count`` calls of a command: advice only."""
        first = int(Field.CLAIMS)
        return list(self._fields[first : first + min(count, CLAIM_COUNT)])

    def walls(self) -> Walls:
        """Read from ``/proc``: what the shim reported, unless it cannot be seen from outside."""
        layers = dict(self._layers)
        filters: list[int] = []
        for thread in _processes.thread_ids(self.pid):
            with contextlib.suppress(OSError):
                seen = _processes.thread_status(self.pid, thread)
                filters.append(seen.seccomp_filters - self._base_filters)
                self._compare(layers, seen)
        if self._layers.get("namespaces") == "" and not self._user_namespace:
            layers["namespaces"] = "not seen from outside"
        left = self._descendants()
        if left:
            layers["descendants"] = f"{len(left)} processes of the worker are alive"
        sealed = bool(filters) and min(filters) >= 2 and not left
        return Walls(layers, sealed)

    def _compare(self, layers: dict[str, str], seen: _processes.ThreadStatus) -> None:
        stands = {
            "no_new_privs": seen.no_new_privs,
            "capabilities": not seen.capabilities,
            "seccomp": seen.seccomp_mode == 2 and seen.seccomp_filters > self._base_filters,
        }
        for name, visible in stands.items():
            if not visible and not layers.get(name):
                layers[name] = "not seen from outside"

    def _descendants(self) -> set[int]:
        return _processes.descendants(self.pid, self._user_namespace)

    def log_tail(self) -> str:
        """The last bytes that the worker printed. Never interpreted by the judge."""
        self._drain_log()
        return self._log.decode("utf-8", "replace")

    def _drain_log(self) -> None:
        if self._log_fd < 0:
            return
        for _ in range(_LOG_READS):
            try:
                data = os.read(self._log_fd, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                return
            self._log += data
            del self._log[: -self._limits.log_bytes]

    def kill(self) -> None:
        """End the worker and everything it started. Idempotent."""
        if self._pidfd < 0:
            return
        self._signal_all(signal.SIGKILL)
        self._signal(signal.SIGKILL)
        self._poll.poll(int(_EXIT_S * 1000))
        if not self._clean:
            _processes.end_all(self._leftovers)
        if self._end is None:
            self._end = Reply("died", detail="killed by the judge", seen_ns=time.perf_counter_ns())
        self._drain_log()
        os.close(self._log_fd)
        os.close(self._pidfd)
        self._pidfd = self._log_fd = -1
        remove_tree(self._scratch, _REMOVAL_S)

    def _leftovers(self) -> set[int]:
        """After the worker's death its tree is gone; what remains shows by its namespace."""
        if not self._user_namespace:
            return set()
        return _processes.descendants(self.pid, self._user_namespace)

    def _signal_all(self, number: signal.Signals) -> None:
        """The worker and what it has started, if it lives: only then its number is surely its own."""
        if not self._dead():
            _processes.signal_group(self.pid, number)

    def _signal(self, number: signal.Signals) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)


def make_page() -> tuple[int, mmap.mmap]:
    """The shared page: a descriptor that cannot shrink, and the judge's mapping of it."""
    fd = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, PAGE_BYTES)
    return fd, mmap.mmap(fd, PAGE_BYTES)
