"""The child process: derives one bound after another until its parent hangs up.

Run as ``python -m solbench.bound._batch_worker SOCKET LOG MEMORY_BYTES``: a connected socket's descriptor,
a file for tracebacks of a dying process, and how much address space to allow beyond the present.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TextIO

import torch

from solbench.bound._batch_task import READY, Task
from solbench.bound._derive import derive_bound
from solbench.bound._programs import function_program, module_program
from solbench.bound._result import Bound
from solbench.bound.capture import capture
from solbench.bound.rules import load_rules
from solbench.errors import SolBenchError
from solbench.spec import Problem, load_problem


def main(socket: int, log_path: str, memory_bytes: int) -> None:
    """Serve tasks: ``(Task, seconds)`` in, ``Bound`` out."""
    connection = Connection(socket)
    log = Path(log_path).open("w")  # noqa: SIM115 (open as long as the process)
    _prepare_process(log, memory_bytes)
    # The first capture of a process loads seconds' worth of code: no task's time should hold it.
    capture(function_program(torch.relu, (torch.ones(1),)))
    connection.send(READY)
    while True:
        try:
            task, timeout_s = connection.recv()
        except EOFError:
            return
        with _watched(0.9 * timeout_s, log):
            bound = _derived(task)
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        connection.send(bound)


@contextmanager
def _watched(seconds: float, log: TextIO) -> Iterator[None]:
    """For a hang: where this thread is, shortly before the parent gives up on the process.

    Not by ``faulthandler.dump_traceback_later``: its thread reads frames while they change, without the
    interpreter's lock, and now and then kills a process that is only slow.
    """
    thread = threading.get_ident()

    def write_where() -> None:
        for frame, line in traceback.walk_stack(sys._current_frames()[thread]):
            code = frame.f_code
            log.write(f'  File "{code.co_filename}", line {line} in {code.co_name}\n')
        log.flush()

    watch = threading.Timer(seconds, write_where)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _derived(task: Task) -> Bound:
    started = time.perf_counter()
    try:
        bounds = _bounds(task)
    except SolBenchError as error:
        return task.failed(str(error), time.perf_counter() - started)
    # The last boundary before the process: a bug of ours must not take the other programs with it.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        what = f"{type(error).__name__}: {error}"
        return task.failed(what, time.perf_counter() - started)
    # The analysis may be as large as the program; lines do not show it.
    return replace(bounds[0], demand=None)


def _bounds(task: Task) -> tuple[Bound, ...]:
    for folder in task.rules:
        load_rules(folder)
    if Path(task.path).is_dir():
        return derive_bound(
            _problem(task.path, task.blob_roots),
            task.hardware,
            workload=task.workload,
            clock_mhz=task.clock_mhz,
            verify=task.verify,
            precision=task.precision,
        )
    program = module_program(task.path)
    return derive_bound(program, task.hardware, clock_mhz=task.clock_mhz, verify=task.verify)


@lru_cache(maxsize=4)
def _problem(path: str, blob_roots: tuple[str, ...]) -> Problem:
    return load_problem(path, blob_roots)


def _prepare_process(log: TextIO, memory_bytes: int) -> None:
    """Limit memory, keep programs from writing to the parent's output, and leave a trace when dying."""
    faulthandler.enable(file=log)
    torch.set_num_threads(1)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    if pages:
        limit = pages * resource.getpagesize() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    leave = os._exit

    def exit_with_trace(status: int) -> None:
        faulthandler.dump_traceback(file=log)
        leave(status)

    os._exit = exit_with_trace  # type: ignore[assignment]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
