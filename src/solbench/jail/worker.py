"""The shim beside untrusted code: wait for the doorbell, do as told, acknowledge. Nothing else.

It holds no secret and decides nothing. Whatever the submission does to it, the judge sees integers on a page.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import torch

from solbench.jail._headline import headline
from solbench.jail._load import Entry, Rejected, load
from solbench.jail._page import Page
from solbench.jail._types import WorkerPlan
from solbench.jail.protocol import Command, Field, Status
from solbench.jail.walls import raise_seal

_IDLE_LOOKS = 20_000
"""About 2 ms of looking at the page before the first nap."""
_ARMED_LOOKS = 2_000_000
"""About 0.2 s: a timed call must not find the worker asleep. Being frozen does not use them up."""
_TRACE_BYTES = 16 << 10


class Device(Protocol):
    """What a device's shim can do. ``first`` and ``count`` name consecutive slots of one layout."""

    def bind(self, entry: Entry) -> None: ...
    def meet(self, layout: int, first: int, count: int) -> None: ...
    def arm(self, layout: int, first: int, count: int) -> None: ...
    def run(self, layout: int, first: int, count: int) -> None: ...
    def queue(self, layout: int, first: int, count: int) -> None: ...
    def synchronise(self) -> None: ...
    def profile(self, layout: int, first: int, count: int) -> None: ...


def device_class(plan: WorkerPlan) -> type[Any]:
    """The device's class. Its module is imported while files can still be read."""
    kind = plan.device.partition(":")[0]
    module = importlib.import_module(f"solbench.jail.worker_{kind}")
    found: type[Any] = module.DEVICE
    return found


def serve(
    plan: WorkerPlan,
    page_fd: int,
    make_device: type[Any],
    descriptors: Sequence[Sequence[tuple[int, int]]],
    *,
    filtered: bool,
) -> NoReturn:
    """Answer commands until told to exit.

    ``filtered``: the system call filter stands, so that there is something to seal.
    """
    page = Page(page_fd)
    os.close(page_fd)
    device: Device = make_device(plan, descriptors, page)
    last, looks, sealed = 0, _IDLE_LOOKS, False
    while True:
        last = page.next_command(last, looks)
        command = page.fields[Field.COMMAND]
        if command == Command.EXIT:
            os._exit(0)
        status = _obey(plan, device, page.fields, command, filtered, sealed)
        sealed = sealed or (filtered and command == Command.SEAL)
        looks = _ARMED_LOOKS if command in (Command.ARM, Command.QUEUE) else _IDLE_LOOKS
        page.fields[Field.STATUS] = status
        page.fields[Field.DONE] = last


def _obey(
    plan: WorkerPlan,
    device: Device,
    fields: memoryview[int],
    command: int,
    filtered: bool,
    sealed: bool,
) -> Status:
    where = fields[Field.LAYOUT], fields[Field.FIRST_SLOT], fields[Field.COUNT]
    try:
        if command == Command.RUN:
            device.run(*where)
        elif command == Command.ARM:
            device.arm(*where)
        elif command == Command.QUEUE:
            device.queue(*where)
        elif command == Command.SYNCHRONISE:
            device.synchronise()
        elif command == Command.PROFILE:
            device.profile(*where)
        elif command == Command.LOAD:
            device.bind(load(plan.artifact))
        elif command == Command.MEET:
            device.meet(*where)
        elif command == Command.SEAL:
            if filtered:
                raise_seal()
        else:
            return Status.INTERNAL
    except BaseException as error:  # noqa: BLE001 - the process boundary: it becomes a status
        return _status_of(error, command, sealed, Path(plan.artifact.folder))
    return Status.OK


def _status_of(error: BaseException, command: int, sealed: bool, folder: Path) -> Status:
    """Say it in the log, and as an integer."""
    if isinstance(error, Rejected):
        _say(str(error))
        return error.status
    _say("".join(traceback.format_exception(error)), first=_headline(error, folder))
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return Status.OUT_OF_MEMORY
    if sealed and _tried_to_start_a_process(error):
        _say("a process was started after the jail was sealed: compile in setup() or at first call")
        return Status.COMPILE_AFTER_SEAL
    if command == Command.LOAD:
        return Status.LOAD_FAILED
    return Status.INTERNAL if command in (Command.SEAL, Command.ARM) else Status.CALL_RAISED


def _tried_to_start_a_process(error: BaseException | None) -> bool:
    """The seal answers EPERM to fork and exec; the submission may have wrapped the error."""
    while error is not None:
        if isinstance(error, PermissionError) and error.errno == errno.EPERM:
            return True
        error = error.__cause__ or error.__context__
    return False


def _headline(error: BaseException, folder: Path) -> str:
    """Nothing if the exception's own methods fail: they are the submission's."""
    with contextlib.suppress(Exception):
        return headline(error, folder) + "\n"
    return ""


def _say(text: str, first: str = "") -> None:
    """To the log, past whatever the submission made of ``sys.stderr``. A long text keeps its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    kept = text.encode("utf-8", "replace")[-_TRACE_BYTES:]
    with contextlib.suppress(OSError):
        os.write(2, first.encode("utf-8", "replace") + kept + b"\n")
