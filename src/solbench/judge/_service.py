"""The judge's process: takes orders over a channel, and sends each answer when it is there."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import signal
import traceback
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.connection import Connection
from threading import Thread
from typing import TYPE_CHECKING, Any

from solbench.errors import SolBenchError
from solbench.jail import ZygoteClient, cuda_driver, start_zygote
from solbench.jail.cuda_driver import CudaDriverError
from solbench.judge._builds import Builds
from solbench.judge._orders import AnyOrder, Verdict
from solbench.judge._phases import Phases
from solbench.judge._sections import SectionPage
from solbench.judge._setup import Start

if TYPE_CHECKING:
    from solbench.judge._session import LocalJudge


def main(channel_fd: int, page_fd: int, lifeline_fd: int) -> None:
    """Serve until told to end, or until the process at the other end is gone."""
    _die_with(lifeline_fd)
    channel: Connection = Connection(channel_fd)
    zygote = start_zygote()  # imports torch while this process does
    try:
        with _uncollected():
            judge = _start(channel.recv(), SectionPage(page_fd), zygote)
    except SolBenchError as error:
        channel.send(("error", error))
        zygote.close()
        return
    with judge:
        channel.send(("ready", judge.phases.take()))
        while (order := channel.recv()) is not None:
            _obey(judge, order, channel)


def _start(start: Start, page: SectionPage, zygote: ZygoteClient) -> LocalJudge:
    """The judge. What takes time without needing this process goes on while it imports torch: a compiler, and
    the driver of a GPU."""
    setup, phases = start.setup, Phases()
    builds = Builds(setup.device, phases)
    context = Thread(target=_open_context, args=(setup.device,), daemon=True)
    context.start()
    if start.coming is not None:
        builds.begin(start.coming.solution, start.coming.definition)
    with phases.within("import"):
        import_module("torch._dynamo")  # torch's fake tensors do, and no bound is made without them
        import_module("solbench.judge._evaluate")
        from solbench.judge._session import LocalJudge
    with phases.within("context"):
        context.join()
    with phases.within("device"):
        return LocalJudge(
            setup.device, budgets=setup.budgets, hot=setup.hot, rules=setup.rules, sections=page, zygote=zygote,
            builds=builds, phases=phases,
        )  # fmt: skip


def _open_context(device: str) -> None:
    """Whatever is wrong shows again, and is told, when the device is opened."""
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return
    # As torch does, which comes too late for this context.
    os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
    with contextlib.suppress(ValueError, CudaDriverError):
        cuda_driver.open_context(int(number or 0))


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Modules stay: to look through a million of their objects for garbage takes a fifth of their import."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _die_with(lifeline_fd: int) -> None:
    """Have the kernel kill this process when the pipe's other end closes, whatever it is doing.

    A parent-death signal would come when the *thread* that started this process ends.
    """
    fcntl.fcntl(lifeline_fd, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline_fd, _F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(lifeline_fd, fcntl.F_GETFL)
    fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, flags | os.O_ASYNC)


_F_SETSIG = 10
"""Python does not name this one (linux/fcntl.h)."""


def _obey(judge: LocalJudge, order: AnyOrder, channel: Connection) -> None:
    def tell(answer: Any) -> None:
        uuid = answer.trace.workload.uuid if isinstance(answer, Verdict) else answer.workload
        channel.send(("answer", (uuid, answer)))

    try:
        judge.carry_out(order, tell)
    except Exception as error:  # noqa: BLE001 - the process boundary: it is raised on the other side
        channel.send(("error", _sendable(error)))
    else:
        channel.send(("done", judge.phases.take()))


def _sendable(error: Exception) -> Exception:
    """Errors of ours are sent as they are; a bug takes along where it happened."""
    if isinstance(error, SolBenchError):
        return error
    return RuntimeError(f"in the judge's process:\n{''.join(traceback.format_exception(error))}")
