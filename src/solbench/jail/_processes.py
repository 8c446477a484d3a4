"""What ``/proc`` tells about other processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from solbench.jail.walls import _libc

_STABLE_ROUNDS = 20
"""A process that forks in a loop is stopped after a few rounds; this bounds them."""


_END_S = 5.0
"""A killed process gives back its memory before it is gone."""
_LOOK_AGAIN_S = 1e-3


@dataclass(frozen=True, slots=True)
class ThreadStatus:
    """The lines of ``/proc/<pid>/task/<tid>/status`` that say which walls stand."""

    no_new_privs: bool
    capabilities: int
    """Effective and permitted together."""
    seccomp_mode: int
    seccomp_filters: int
    """-1 where the kernel does not tell (before 5.9)."""


def thread_ids(pid: int) -> list[int]:
    """Empty when the process is gone."""
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 - hot
    except OSError:
        return []


def thread_status(pid: int, thread: int) -> ThreadStatus:
    """Raises ``OSError`` when the thread is gone."""
    text = _status_text(pid, thread)
    fields = dict(line.split(":", 1) for line in text.split("\n") if ":" in line)
    return ThreadStatus(
        no_new_privs=int(fields.get("NoNewPrivs", "0")) == 1,
        capabilities=int(fields["CapEff"], 16) | int(fields["CapPrm"], 16),
        seccomp_mode=int(fields.get("Seccomp", "0")),
        seccomp_filters=int(fields.get("Seccomp_filters", "-1")),
    )


def _status_text(pid: int, thread: int) -> str:
    """A thread gives itself its name, which may hold any bytes but line feeds. Raises ``OSError``."""
    return Path(f"/proc/{pid}/task/{thread}/status").read_bytes().decode("utf-8", "replace")


def _stat(path: str) -> tuple[str, int]:
    """State letter and parent. The name in parentheses may hold anything, so look behind it."""
    state, parent = Path(path).read_bytes().rpartition(b")")[2].split()[:2]
    return state.decode(), int(parent)


def all_stopped(pid: int) -> bool:
    """Whether every thread is stopped by a signal (or the process is gone)."""
    for thread in thread_ids(pid):
        try:
            state, _ = _stat(f"/proc/{pid}/task/{thread}/stat")
        except OSError:
            continue
        if state not in "TZX":
            return False
    return True


def resident_bytes(pid: int) -> int:
    """0 when the process is gone."""
    resident = _resident_bytes(f"/proc/{pid}/statm")
    if resident:
        return resident
    # The main thread may have ended before others: it is then shown without their memory.
    tasks = (f"/proc/{pid}/task/{thread}/statm" for thread in thread_ids(pid))
    return max(map(_resident_bytes, tasks), default=0)


def _resident_bytes(path: str) -> int:
    try:
        return int(Path(path).read_bytes().split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:
        return 0


def page_table_bytes(pid: int) -> int:
    """What the kernel holds for a process to find its pages, which are none of its resident memory; 0 when it
    is gone."""
    for thread in thread_ids(pid):
        with contextlib.suppress(OSError):
            text = _status_text(pid, thread)
            found = re.search(r"^VmPTE:\s*(\d+) kB$", text, re.MULTILINE)
            if found:
                return int(found[1]) << 10
    return 0


def namespace(pid: int | str, kind: str) -> str:
    """Identity of a namespace, or ``""`` where it cannot be read."""
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")  # noqa: PTH115 - hot, and the text is wanted
    except OSError:
        return ""


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - hot


def parents() -> dict[int, int]:
    """Process → parent, dead ones left out."""
    found: dict[int, int] = {}
    for process in _numbers():
        with contextlib.suppress(OSError, ValueError):
            state, parent = _stat(f"/proc/{process}/stat")
            if _lives(process, state):
                found[process] = parent
    return found


def children(pid: int) -> set[int]:
    """Living children. One small file where the kernel offers it, else a walk over everything."""
    try:
        text = "".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    except OSError:
        return set()
    if text or Path(f"/proc/{pid}/task/{pid}/children").exists():
        return {int(word) for word in text.split() if _alive(int(word))}
    return {child for child, parent in parents().items() if parent == pid}


def _alive(pid: int) -> bool:
    try:
        return _lives(pid, _stat(f"/proc/{pid}/stat")[0])
    except OSError:
        return False


def _lives(pid: int, state: str) -> bool:
    """``state`` is the main thread's. One that has ended says nothing about the others: they run on, and the
    process can be signalled as before."""
    if state not in "ZX":
        return True
    for thread in thread_ids(pid):
        with contextlib.suppress(OSError):
            if _stat(f"/proc/{pid}/task/{thread}/stat")[0] not in "ZX":
                return True
    return False


def descendants(pid: int, user_namespace: str) -> set[int]:
    """What a process has started: whatever shares its user namespace, which no child can leave.

    An orphan has left the tree but not the namespace. Where the process has none of its own
    (``""``), it is its tree, and orphans get away.
    """
    if user_namespace:
        return {
            process
            for process in _numbers()
            if process != pid and namespace(process, "user") == user_namespace and _alive(process)
        }
    known = parents()
    return {process for process in known if _has_ancestor(process, pid, known)}


def _has_ancestor(process: int, ancestor: int, known: dict[int, int]) -> bool:
    while process in known:
        process = known[process]
        if process == ancestor:
            return True
    return False


def stop_threads(pid: int) -> None:
    """Send SIGSTOP to every thread by itself.

    A signal to the process is taken by one thread, which then stops the others. The kernel prefers the main
    thread, and while that one is in a system call that cannot be interrupted, the others would run on.
    """
    for thread in thread_ids(pid):
        with contextlib.suppress(OSError):
            _libc.syscall("tgkill", pid, thread, signal.SIGSTOP)


def send(pid: int, number: int) -> None:
    """Signal a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def signal_group(leader: int, number: int) -> None:
    """Signal a worker and whatever it has started, all at once: the kernel lets no fork pass by meanwhile, so a
    process that forks faster than it can be listed is met as well.

    The worker leads a group of its own, which its filter lets no one leave. It must not have been waited for:
    its number could be another's then.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def end_all(find: Callable[[], set[int]]) -> bool:
    """Kill everything that ``find`` finds, also what forks meanwhile; whether none is left.

    They are stopped first: a stopped process cannot fork.
    """
    stopped: set[int] = set()
    for _ in range(_STABLE_ROUNDS):
        new = find() - stopped
        if not new:
            if not stopped:
                return True
            break
        for pid in new:
            send(pid, signal.SIGSTOP)
        stopped |= new
    deadline = time.monotonic() + _END_S
    while left := find():
        if time.monotonic() > deadline:
            return False
        for pid in left:
            send(pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S)
    return True
