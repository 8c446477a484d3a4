"""The judge's process: takes orders over a channel, and sends each answer when it is there."""

from __future__ import annotations

import fcntl
import os
import signal
import traceback
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from solbench.errors import SolBenchError
from solbench.judge._orders import AnyOrder, Verdict
from solbench.judge._sections import SectionPage

if TYPE_CHECKING:
    from solbench.jail import ZygoteClient
    from solbench.judge._session import LocalJudge


def main(channel_fd: int, page_fd: int, lifeline_fd: int) -> None:
    """Serve until told to end, or until the process at the other end is gone."""
    _die_with(lifeline_fd)
    channel: Connection = Connection(channel_fd)
    device, budgets, hot, rules = channel.recv()
    zygote = _early_zygote(device)
    from solbench.judge._session import LocalJudge

    try:
        judge = LocalJudge(
            device, budgets=budgets, hot=hot, rules=rules, sections=SectionPage(page_fd), zygote=zygote,
        )  # fmt: skip
    except SolBenchError as error:
        channel.send(("error", error))
        if zygote is not None:
            zygote.close()
        return
    with judge:
        channel.send(("ready", None))
        while (order := channel.recv()) is not None:
            _obey(judge, order, channel)


def _early_zygote(device: str) -> ZygoteClient | None:
    """It imports torch while this process does. Not for a CPU, whose peaks are measured meanwhile."""
    if not device.startswith("cuda"):
        return None
    from solbench.jail import start_zygote

    return start_zygote()


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
        channel.send(("done", None))


def _sendable(error: Exception) -> Exception:
    """Errors of ours are sent as they are; a bug takes along where it happened."""
    if isinstance(error, SolBenchError):
        return error
    return RuntimeError(f"in the judge's process:\n{''.join(traceback.format_exception(error))}")
