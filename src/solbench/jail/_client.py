"""The judge's side of the zygote."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from solbench.errors import JailError
from solbench.jail import _processes
from solbench.jail._folders import OwnedFolder
from solbench.jail._removal import remove_tree
from solbench.jail._types import SlotBuffers, WorkerPlan
from solbench.jail._wire import encode_plan
from solbench.jail._worker import JailedWorker, make_page

_DESCRIPTORS_PER_MESSAGE = 200
_MESSAGE_BYTES = 4096
_START_S = 120.0
"""A cold import of torch from a slow disk."""
_SPAWN_S = 30.0
_REAP_S = 1.0
_CLOSE_S = 5.0

_PASSED_ON = (
    "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "CUDA_PATH",
    "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
)  # fmt: skip
_BOOTSTRAP = (
    # What an import makes stays: to look through it for garbage takes a fifth of torch's import.
    "import gc, json, os, sys; gc.disable(); sys.path[:] = json.loads(sys.argv[1]); "
    "from solbench.jail.zygote import main; main(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]); "
    "os._exit(0)"  # to take torch's modules apart one by one takes a while too
)


def clean_environment() -> dict[str, str]:
    """What jailed processes start with: constant but for the places of drivers and libraries."""
    return {
        "PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "LANG": "C.UTF-8",
        # A thread pool in the zygote would forbid namespaces in its forks.
        "OPENBLAS_NUM_THREADS": "1",
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    }


def import_path() -> list[str]:
    """The judge's import path, absolute, as far as it holds packages: the same ones on the other side.

    Not the caller's own folders: a worker can read its command line, which must not tell who calls.
    """
    standard = {Path(path).resolve() for path in sysconfig.get_paths().values()}
    return [
        str(path)
        for path in (Path(entry).resolve() for entry in sys.path if entry)
        if path.exists() and (path in standard or _holds_packages(path))
    ]


def _holds_packages(folder: Path) -> bool:
    named = folder.name in ("site-packages", "dist-packages", "lib-dynload")
    return named or (folder / "solbench").is_dir() or any(folder.glob("*.dist-info"))


class _Process:
    """One zygote process and the channel to it."""

    def __init__(self, base: Path, leave_out: Sequence[str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.channel = ours
        self.log_path = base / "zygote.log"
        base.mkdir(mode=0o700, exist_ok=True)
        channel, judge = str(theirs.fileno()), str(os.getpid())
        arguments = (json.dumps(import_path()), channel, judge, str(base), *leave_out)
        with self.log_path.open("wb") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-I", "-B", "-c", _BOOTSTRAP, *arguments],
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                start_new_session=True,
            )
        theirs.close()
        self.exits: dict[int, int] = {}
        self.ready = False

    def receive(self, timeout_s: float) -> tuple[dict[str, object], list[int]] | None:
        """The next message and its descriptors; ``None`` at the end of time or of the zygote."""
        if not _readable(self.channel.fileno(), timeout_s):
            return None
        try:
            data, descriptors, _, _ = socket.recv_fds(self.channel, _MESSAGE_BYTES, 8)
        except OSError:
            return None
        return (json.loads(data), descriptors) if data else None

    def await_ready(self) -> None:
        if not self.ready:
            if self.receive(_START_S) is None:
                tail = self.log_path.read_text(errors="replace")[-2000:]
                raise JailError(f"the zygote did not start:\n{tail}")
            self.ready = True

    def reap(self) -> None:
        """Let a zygote that is dying be seen as dead: its channel closes some time before that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.popen.wait(_REAP_S)

    def close(self) -> None:
        self.channel.close()
        try:
            self.popen.wait(_CLOSE_S)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


class ZygoteClient:
    """Spawns workers from a warm process; starts that process anew if it died. Thread-safe."""

    def __init__(self, leave_out: Sequence[str] = ()) -> None:
        self._leave_out = leave_out
        self._folder = OwnedFolder("solbench-jail-")
        self._base = self._folder.path
        self._numbers = itertools.count()
        self._lock = threading.RLock()
        self._workers: list[JailedWorker] = []
        self._process = _Process(self._base, self._leave_out)
        self._base_filters = _processes.thread_status(os.getpid(), os.getpid()).seccomp_filters
        self._closed = False
        _allow_descriptors()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Of the zygote's process."""
        return self._process.popen.pid

    def spawn(
        self, plan: WorkerPlan, buffers: Sequence[Sequence[SlotBuffers]] = ()
    ) -> JailedWorker:
        """Fork a worker behind its first walls. ``buffers[layout][slot]``; the caller keeps them.

        Raises ``JailError`` if the zygote or the worker does not start.
        """
        with self._lock:
            if self._closed:
                raise JailError("the zygote is closed")
            if self._process.popen.poll() is not None:
                self._restart()
            self._process.await_ready()
            try:
                return self._spawn(plan, buffers)
            except JailError:
                self._process.reap()
                raise

    def await_ready(self) -> None:
        """See ``Zygote``."""
        with self._lock, contextlib.suppress(JailError):
            self._process.await_ready()

    def _restart(self) -> None:
        """The zygote died and took its workers with it."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()
        self._process.close()
        self._process = _Process(self._base, self._leave_out)

    def _spawn(self, plan: WorkerPlan, buffers: Sequence[Sequence[SlotBuffers]]) -> JailedWorker:
        scratch = self._base / f"worker-{next(self._numbers)}"
        slots = _slot_descriptors(plan, buffers)
        with contextlib.ExitStack() as passed, contextlib.ExitStack() as failed:
            failed.callback(remove_tree, scratch)
            scratch.mkdir(mode=0o700)
            plan_fd = _content(encode_plan(plan), passed)
            page_fd, page = make_page()
            passed.callback(os.close, page_fd)
            _forbid_resizing([page_fd, *slots])
            log_read, log_write = os.pipe()
            failed.callback(os.close, log_read)
            os.set_blocking(log_read, False)
            ready_read, ready_write = os.pipe()
            passed.callback(os.close, ready_read)
            try:
                sent = [plan_fd, page_fd, log_write, ready_write, *slots]
                pid, pidfd = self._request(sent, scratch)
            finally:
                os.close(log_write)
                os.close(ready_write)
            failed.callback(os.close, pidfd)
            failed.callback(_kill, pidfd)
            layers = _await_layers(ready_read, log_read)
            failed.pop_all()
        if self._base_filters < 0 and not layers["seccomp"]:
            layers["seccomp"] = "this kernel does not show from outside which filters are on"
        worker = JailedWorker(
            pid=pid,
            pidfd=pidfd,
            page=page,
            log_fd=log_read,
            scratch=scratch,
            limits=plan.limits,
            layers=layers,
            base_filters=self._base_filters,
            exit_status=self._exit_status_from(self._process),
        )
        self._workers = [*(known for known in self._workers if not known.ended), worker]
        return worker

    def _request(self, descriptors: list[int], scratch: Path) -> tuple[int, int]:
        channel = self._process.channel
        size = _DESCRIPTORS_PER_MESSAGE
        batches = [descriptors[at : at + size] for at in range(0, len(descriptors), size)]
        try:
            channel.send(json.dumps({"batches": len(batches), "scratch": str(scratch)}).encode())
            for batch in batches:
                socket.send_fds(channel, [b"+"], batch)
            return self._await_birth()
        except OSError as error:
            self._process.popen.kill()
            raise JailError(f"the zygote does not answer: {error}") from error
        except JailError:
            # Half a request would be taken for the beginning of the next one, with the descriptors of both.
            self._process.popen.kill()
            raise

    def _await_birth(self) -> tuple[int, int]:
        deadline = time.monotonic() + _SPAWN_S
        while (left := deadline - time.monotonic()) > 0:
            received = self._process.receive(left)
            if received is None:
                break
            message, descriptors = received
            if descriptors:
                return int(str(message["pid"])), descriptors[0]
            self._note_exit(self._process, message)
        raise JailError("the zygote did not fork a worker")

    @staticmethod
    def _note_exit(process: _Process, message: dict[str, object]) -> None:
        process.exits[int(str(message["pid"]))] = int(str(message["exit"]))

    def _exit_status_from(self, process: _Process) -> Callable[[int, float], int | None]:
        """How a worker of this zygote ended, once the zygote says so; ``None`` if it never does."""

        def exit_status(pid: int, timeout_s: float) -> int | None:
            deadline = time.monotonic() + timeout_s
            with self._lock:
                while pid not in process.exits:
                    received = process.receive(max(0.0, deadline - time.monotonic()))
                    if received is None:
                        return None
                    self._note_exit(process, received[0])
                return process.exits.pop(pid)

        return exit_status

    def close(self) -> None:
        """End every worker and the zygote. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for worker in self._workers:
                worker.kill()
            self._process.close()
            self._folder.remove()


def start_zygote(leave_out: Sequence[str] = ()) -> ZygoteClient:
    """Start a zygote; it imports torch while the caller goes on. Use it as a context manager.

    ``leave_out`` names walls to do without, to find out what they are good for; every trace then says so.
    """
    return ZygoteClient(leave_out)


def _allow_descriptors() -> None:
    """As many as the system lets this process have.

    All processes of a user share what may be on its way through sockets, and each may send no more once that
    passes its own limit: a worker would keep a judge with a lower one than its own from sending any.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _slot_descriptors(plan: WorkerPlan, buffers: Sequence[Sequence[SlotBuffers]]) -> list[int]:
    if plan.device_memory:
        return []  # CUDA: the plan itself carries the handles
    counts, expected = [len(slots) for slots in buffers], [layout.slots for layout in plan.layouts]
    if counts != expected:
        raise JailError(f"buffers for {counts} slots were given; the layouts have {expected}")
    return [fd for slots in buffers for slot in slots for fd in (slot.inputs_fd, slot.outputs_fd)]


def _content(data: bytes, cleanup: contextlib.ExitStack) -> int:
    fd = os.memfd_create("plan", os.MFD_CLOEXEC)
    cleanup.callback(os.close, fd)
    os.write(fd, data)
    return fd


def _forbid_resizing(descriptors: Iterable[int]) -> None:
    """A worker that shrank a buffer would have the judge killed by SIGBUS."""
    for fd in descriptors:
        try:
            present = fcntl.fcntl(fd, fcntl.F_GET_SEALS)
        except OSError:
            continue  # not a memfd: CUDA passes handles instead
        wanted = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        if present & wanted == wanted and present & fcntl.F_SEAL_SEAL:
            continue
        if present & fcntl.F_SEAL_SEAL:
            raise JailError("a buffer is sealed but can be resized: make it with MFD_ALLOW_SEALING")
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, wanted | fcntl.F_SEAL_SEAL)


def _await_layers(ready_fd: int, log_fd: int) -> dict[str, str]:
    """What the shim says about its walls, before anything untrusted is loaded."""
    data = os.read(ready_fd, _MESSAGE_BYTES * 4) if _readable(ready_fd, _SPAWN_S) else b""
    if not data:
        reason = ""
        with contextlib.suppress(BlockingIOError):
            reason = os.read(log_fd, 4096).decode(errors="replace")
        raise JailError(f"the worker did not start: {reason.strip() or 'no reason given'}")
    layers: dict[str, str] = json.loads(data)
    return layers


def _kill(pidfd: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def _readable(fd: int, timeout_s: float) -> bool:
    """Whether there is something to read in time. ``select`` cannot name descriptors above 1023."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(timeout_s * 1000))
