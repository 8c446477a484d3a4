"""Child processes that derive bounds, and what is said of one that dies."""

from __future__ import annotations

import linecache
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path

from solbench.bound._batch_task import READY, Task
from solbench.bound._result import Bound

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.*)')
_GRACE_S = 1.0
"""A hanging child writes where it is shortly before its time is over."""
_START_UP_S = 120.0
"""For importing torch on a busy machine."""


def run_tasks(
    tasks: Sequence[Task], count: int, timeout_s: float, memory_bytes: int
) -> Iterator[Bound]:
    """The bounds of all tasks in their order, by ``count`` children at a time."""
    waiting = list(enumerate(tasks))[::-1]
    finished: dict[int, Bound] = {}
    with tempfile.TemporaryDirectory(prefix="solbench-") as folder:
        children = [_Child(Path(folder), timeout_s, memory_bytes) for _ in range(count)]
        try:
            for position in range(len(tasks)):
                while position not in finished:
                    _step(children, waiting, finished)
                yield finished.pop(position)
        finally:
            for child in children:
                child.close()


def _step(
    children: list[_Child], waiting: list[tuple[int, Task]], finished: dict[int, Bound]
) -> None:
    """Hand out tasks, then wait for the next event and take it in."""
    for child in children:
        if waiting and child.idle:
            child.start(*waiting.pop())
    busy = [child for child in children if not child.idle]
    patience = min(child.deadline for child in busy) - time.monotonic()
    ready = wait([child.connection for child in busy], timeout=max(0.0, patience))
    for child in busy:
        if child.connection in ready or time.monotonic() >= child.deadline:
            finished.update(child.take())


class _Child:
    """A child process, started when first needed and again after it died."""

    def __init__(self, folder: Path, timeout_s: float, memory_bytes: int) -> None:
        self._folder = folder
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._log = folder / f"{id(self)}.log"
        self._ready = False
        self._work: tuple[int, Task] | None = None
        self._started = 0.0

    @property
    def idle(self) -> bool:
        return self._work is None

    @property
    def connection(self) -> Connection:
        assert self._connection is not None
        return self._connection

    @property
    def deadline(self) -> float:
        return self._started + (self._timeout_s + _GRACE_S if self._ready else _START_UP_S)

    def start(self, position: int, task: Task) -> None:
        """Give it a task."""
        if self._process is None:
            self._spawn()
        self._work = (position, task)
        self._started = time.monotonic()
        try:
            self.connection.send((task, self._timeout_s))
        except (BrokenPipeError, ConnectionResetError):
            # It died while idle; ``take`` finds the end of the stream and says so.
            return

    def take(self) -> dict[int, Bound]:
        """The result of its task by position: what it sent, or what became of it. Empty: not yet."""
        assert self._work is not None
        position, task = self._work
        message = self._message(task)
        if message == READY:
            self._ready, self._started = True, time.monotonic()
            return {}
        self._work = None
        if isinstance(message, Bound):
            return {position: message}
        return {position: task.failed(str(message), time.monotonic() - self._started)}

    def _message(self, task: Task) -> object:
        """What it sent, or why it will not send anything any more."""
        if not self.connection.poll():
            self.close()
            return self._with_line(task, f"took longer than {self._timeout_s:g} s")
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return self._obituary(task)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is None:
            return
        self.connection.close()
        self._process.kill()
        self._process.wait()
        self._process = self._connection = None
        self._ready = False

    def _spawn(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs, self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "solbench.bound._batch_worker",
                    str(theirs.fileno()),
                    str(self._log),
                    str(self._memory_bytes),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        self._connection = Connection(ours.detach())

    def _obituary(self, task: Task) -> str:
        """Why the process is gone."""
        assert self._process is not None
        status = self._process.wait()
        self.close()
        if status < 0:
            name = signal.Signals(-status).name
            hint = " (out of memory?)" if name == "SIGKILL" else ""
            return self._with_line(task, f"the process died of {name}{hint}")
        return self._with_line(task, f"the process exited with status {status}")

    def _with_line(self, task: Task, what: str) -> str:
        log = self._log.read_text(errors="replace")
        line = _last_line(log, task)
        if line:
            return f"{line}: {what}"
        # Not the program's doing, perhaps: a child that could not start says why at the end.
        said = log.strip().splitlines()
        return f"{what}: {said[-1]}" if said else what


def _last_line(trace: str, task: Task) -> str:
    """The innermost line of the program in a dump that shows the most recent call first."""
    for match in _FRAME.finditer(trace):
        file, number = match["file"], int(match["line"])
        inside = Path(file).resolve().is_relative_to(Path(task.path).resolve())
        if file.startswith("<reference of ") or inside:
            text = linecache.getline(file, number).strip()
            return f"line {number}: {text}" if text else f"line {number}"
    return ""
