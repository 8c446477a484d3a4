"""The zygote: a process that has imported torch, never runs an operation, and forks workers.

It never sees a problem: a request carries descriptors only, and the plan is read by the child. It ends with
the judge, and ends everything that its workers leave behind.

Wire (a ``SOCK_SEQPACKET`` pair): each request is ``{"batches": n, "scratch": path}`` followed by n messages of
descriptors: plan, page, log, ready, then every slot's input and output. The answer ``{"pid": p}``
carries the worker's pidfd; ``{"pid": p, "exit": s}`` follows when it has ended (a wait status).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NoReturn

import torch

from solbench.jail import _processes, walls
from solbench.jail._removal import remove_tree
from solbench.jail._types import WorkerPlan
from solbench.jail._wire import decode_plan
from solbench.jail.worker import device_class, serve

DESCRIPTORS_PER_MESSAGE = 200
"""The kernel's limit is 253."""
MESSAGE_BYTES = 4096
_REAP_EVERY_MS = 100
_REMOVAL_S = 10.0


class _Zygote:
    def __init__(
        self, channel: socket.socket, judge_pidfd: int, base: str, leave_out: Collection[str]
    ) -> None:
        self._channel = channel
        self._leave_out = leave_out
        self._base = base
        self._judge_pidfd = judge_pidfd
        self._workers: dict[int, int] = {}
        """Process → pidfd."""

    def run(self) -> None:
        """Serve until the judge closes its end or dies."""
        while True:
            poller = select.poll()
            for fd in (self._channel.fileno(), self._judge_pidfd, *self._workers.values()):
                poller.register(fd, select.POLLIN)
            ready = {fd for fd, _ in poller.poll(_REAP_EVERY_MS)}
            self._reap()
            if self._judge_pidfd in ready:
                return
            if self._channel.fileno() in ready and not self._serve_request():
                return

    def _serve_request(self) -> bool:
        head = self._channel.recv(MESSAGE_BYTES)
        if not head:
            return False
        request = json.loads(head)
        descriptors: list[int] = []
        for _ in range(request["batches"]):
            _, batch, _, _ = socket.recv_fds(self._channel, 16, DESCRIPTORS_PER_MESSAGE)
            descriptors += batch
        self._fork(descriptors, request["scratch"])
        return True

    def _fork(self, descriptors: list[int], scratch: str) -> None:
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            become_worker(descriptors, scratch, parent, self._leave_out)
        pidfd = os.pidfd_open(pid)
        for fd in descriptors:
            os.close(fd)
        self._workers[pid] = pidfd
        socket.send_fds(self._channel, [json.dumps({"pid": pid}).encode()], [pidfd])

    def _reap(self) -> None:
        ended = False
        with contextlib.suppress(ChildProcessError):
            while True:
                ending = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if ending is None:
                    break
                if ending.si_pid in self._workers:
                    _processes.signal_group(ending.si_pid, signal.SIGKILL)
                pid, status = os.waitpid(ending.si_pid, 0)
                ended = ended or pid in self._workers
                self._forget(pid, status)
        if ended:
            _processes.end_all(self._strays)

    def _forget(self, pid: int, status: int) -> None:
        pidfd = self._workers.pop(pid, None)
        if pidfd is None:
            return
        os.close(pidfd)
        with contextlib.suppress(OSError):  # the judge is gone: run() sees it next
            self._channel.send(json.dumps({"pid": pid, "exit": status}).encode())

    def _strays(self) -> set[int]:
        """Children that are no worker and share no living worker's user namespace."""
        own = _processes.namespace("self", "user")
        alive = {_processes.namespace(pid, "user") for pid in self._workers} - {own, ""}
        return {
            pid
            for pid in _processes.children(os.getpid())
            if pid not in self._workers and _processes.namespace(pid, "user") not in alive
        }

    def end(self) -> None:
        """Kill every worker and whatever it started; remove what they wrote."""
        for pid in self._workers:
            _processes.signal_group(pid, signal.SIGKILL)
            _processes.send(pid, signal.SIGKILL)
        me = os.getpid()
        _processes.end_all(lambda: _processes.descendants(me, ""))
        remove_tree(Path(self._base), _REMOVAL_S)  # the judge may not live to do it


def become_worker(
    descriptors: list[int], scratch: str, zygote_pid: int, leave_out: Collection[str]
) -> NoReturn:
    """In the fork: raise the walls, tell the judge which stand, then serve. Never returns."""
    try:
        plan_fd, page_fd, log_fd, ready_fd, *buffers = descriptors
        _redirect(log_fd)
        plan = _read_plan(plan_fd)
        _set_environment(plan, scratch)
        make_device = device_class(plan)
        layers = _raise_walls(
            plan, scratch, zygote_pid, [0, 1, 2, page_fd, ready_fd, *buffers], leave_out
        )
        os.write(ready_fd, json.dumps(layers).encode())
        os.close(ready_fd)
        slots = _by_slot(plan, buffers)
        serve(plan, page_fd, make_device, slots, filtered=not layers["seccomp"])
    finally:
        # Also after an exception: this process must never go on as a second zygote.
        if (error := sys.exc_info()[1]) is not None:
            os.write(2, f"the worker could not start: {error!r}\n".encode())
        os._exit(70)


def _redirect(log_fd: int) -> None:
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1)  # noqa: SIM115


def _read_plan(fd: int) -> WorkerPlan:
    return decode_plan(os.pread(fd, os.fstat(fd).st_size, 0))


def _set_environment(plan: WorkerPlan, scratch: str) -> None:
    """Every cache and temporary file goes to the worker's own folder."""
    os.environ.update(worker_environment(plan, scratch))
    sys.argv = [""]
    tempfile.tempdir = None
    os.chdir(scratch)


def worker_environment(plan: WorkerPlan, scratch: str) -> Mapping[str, str]:
    """What is added to the zygote's own environment, which is clean."""
    added = {
        "HOME": scratch,
        "TMPDIR": scratch,
        "XDG_CACHE_HOME": scratch,
        "TRITON_CACHE_DIR": f"{scratch}/triton",
        "TRITON_HOME": scratch,
        "TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # pays only across programs
        # The processor's flags decide; a probe would compile and start a Python for each.
        "TORCHINDUCTOR_VEC_ISA_OK": "1",
        "TORCH_EXTENSIONS_DIR": f"{scratch}/extensions",
        "CUDA_CACHE_PATH": f"{scratch}/cuda",
        "NUMBA_CACHE_DIR": f"{scratch}/numba",
        "USER": "solbench",
        "LOGNAME": "solbench",
        "OMP_NUM_THREADS": str(plan.limits.threads),
    }
    if plan.artifact.triton_interpreter:
        added["TRITON_INTERPRET"] = "1"
    if plan.device.startswith("cuda"):
        # Triton would ask ldconfig otherwise, on some systems a shell script that cannot be started.
        added["TRITON_LIBCUDA_PATH"] = walls.cuda_driver_folder()
    return added


def _raise_walls(
    plan: WorkerPlan, scratch: str, parent: int, keep: list[int], leave_out: Collection[str]
) -> dict[str, str]:
    cuda = plan.device.startswith("cuda")
    allowed = walls.worker_allow_list(
        artifact=plan.artifact.folder,
        scratch=scratch,
        compilers=plan.artifact.kind == "python",
        cuda=cuda,
    )
    return walls.raise_walls(allowed, keep=keep, memfd=cuda, parent=parent, leave_out=leave_out)


def _by_slot(plan: WorkerPlan, buffers: list[int]) -> list[list[tuple[int, int]]]:
    """Descriptors as ``[layout][slot]`` → input and output."""
    if plan.device_memory:
        return []
    rest = iter(buffers)
    return [[(next(rest), next(rest)) for _ in range(layout.slots)] for layout in plan.layouts]


def _open_judge(pid: int) -> int | None:
    """A descriptor that tells when the judge ends; ``None`` if it ended while torch was imported."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    return pidfd if os.getppid() == pid else None


def main(channel_fd: int, judge_pid: int, base: str, *leave_out: str) -> None:
    """Entry of the zygote's process. ``base`` holds the workers' scratch folders; ``leave_out`` names walls
    that its workers do without."""
    judge_pidfd = _open_judge(judge_pid)
    if judge_pidfd is None:
        remove_tree(Path(base))
        return
    walls.adopt_orphans()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.dont_write_bytecode = True
    _warm_up()
    channel = socket.socket(fileno=channel_fd)
    zygote = _Zygote(channel, judge_pidfd, base, leave_out)
    try:
        channel.send(json.dumps({"ready": torch.__version__}).encode())
        zygote.run()
    finally:
        zygote.end()


def _warm_up() -> None:
    """Find out once what every worker needs, and leave the garbage collector nothing to copy."""
    walls.worker_allow_list(
        artifact="/nonexistent", scratch="/nonexistent", compilers=True, cuda=False
    )
    importlib.import_module("solbench.jail.worker_cpu")
    gc.collect()
    gc.freeze()
    gc.enable()
