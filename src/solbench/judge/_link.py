"""One judge's process, watched from outside, and the channel to it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import TYPE_CHECKING, Any

from solbench.errors import JudgeDied
from solbench.judge._orders import AnyOrder
from solbench.judge._phases import Phase
from solbench.judge._sections import NAMES, Entered, Section, SectionPage
from solbench.judge._setup import Start

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_START_S = 180.0
"""A cold import of torch from a slow disk, and a CUDA context."""
_CLOSE_S = 5.0
_LOOK_S = 0.1
_BOOTSTRAP = (
    "import json, os, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from solbench.judge._service import main; main(*map(int, sys.argv[2:5])); "
    # To take torch's modules apart one by one takes half a second.
    "sys.stdout.flush(); sys.stderr.flush(); os._exit(0)"
)


@dataclass(frozen=True, slots=True)
class ReferenceLimits:
    """What a problem's own code may take, each time that it runs."""

    reference_s: float = 120.0
    """The reference, in float64 too, and the generator of inputs."""
    bound_s: float = 300.0
    """The derivation of a bound; without one there is no score, but a verdict."""
    memory_share: float = 0.75
    """Resident memory of the judge, of that of the machine."""


class Stopped(Exception):
    """The caller no longer wants an answer."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A judge's process that is gone, or has to go."""

    reason: str
    entered: Entered | None

    @property
    def words(self) -> str:
        assert self.entered is not None
        return f"{NAMES[self.entered.section]} {self.reason}"


class Link:
    """One judge's process and the channel to it."""

    def __init__(self, start: Start) -> None:
        self.phases: tuple[Phase, ...] = ()
        """What it did since it was last ordered something, or started."""
        self._began_s = time.monotonic()
        self._channel: Connection
        self._channel, theirs = Pipe()
        page = SectionPage.create()
        lifeline, self._lifeline = os.pipe()
        inherited = (theirs.fileno(), page, lifeline)
        self._popen = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP, json.dumps(sys.path), *map(str, inherited)],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what references print is no result
            pass_fds=inherited,
            start_new_session=True,  # an interrupt at the terminal is ours to handle
        )
        self._sections = SectionPage(page)
        self.busy = False
        """Carrying out an order."""
        theirs.close()
        os.close(page)
        os.close(lifeline)
        self._channel.send(start)

    def await_ready(self) -> None:
        """Raises what opening the device raised."""
        if not self._channel.poll(_START_S):
            raise JudgeDied("the judge's process did not start in time")
        try:
            kind, content = self._channel.recv()
        except (EOFError, OSError) as error:
            raise JudgeDied(f"the judge's process did not start: {self._exit()}") from error
        if kind == "error":
            raise content
        self.phases = (Phase("start", self._began_s, time.monotonic()), *content)

    def obey(
        self,
        order: AnyOrder,
        keep: Callable[[str, Any], None],
        limits: ReferenceLimits,
        stop: threading.Event,
    ) -> Ended | None:
        """Have one order carried out. ``None``: all answers are there.

        Raises what the judge raised, and ``Stopped`` soon after ``stop`` is set.
        """
        self.busy = True
        self.phases = ()
        if not self._send(order):
            return self._gone()
        while True:
            if stop.is_set():
                raise Stopped
            if not self._channel.poll(_LOOK_S):
                ended = self._overdue(limits)
                if ended is not None:
                    return ended
                continue
            try:
                kind, content = self._channel.recv()
            except (EOFError, ConnectionError):
                return self._gone()
            if kind == "answer":
                keep(*content)
                continue
            self.busy = False
            if kind == "error":
                raise content
            self.phases = content
            return None

    def _send(self, order: AnyOrder | None) -> bool:
        """Whether there is someone who can still take it."""
        try:
            self._channel.send(order)
        except OSError:
            return False
        return True

    def _gone(self) -> Ended:
        return Ended(f"ended the judge's process ({self._exit()})", self._sections.entered())

    def _overdue(self, limits: ReferenceLimits) -> Ended | None:
        entered = self._sections.entered()
        if entered is None:
            return None
        allowed_s = limits.bound_s if entered.section is Section.BOUND else limits.reference_s
        if entered.seconds > allowed_s:
            return Ended(f"did not return within {allowed_s:g} s", entered)
        used, most = _resident_bytes(self._popen.pid), limits.memory_share * _machine_bytes()
        if used > most:
            return Ended(f"took {used / 2**30:.1f} GiB, {most / 2**30:.1f} may be", entered)
        return None

    def _exit(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._popen.wait(_CLOSE_S)
            return f"signal {-code}" if code < 0 else f"exit code {code}"
        return "no exit code"

    def close(self) -> None:
        """Let it end by itself; kill it if it does not."""
        self._send(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_CLOSE_S)
        self.kill()

    def kill(self) -> None:
        """Idempotent. Its zygote and workers end with it."""
        self._popen.kill()
        self._popen.wait()
        self._channel.close()
        self._sections.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def _resident_bytes(pid: int) -> int:
    """0 where the process is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123 - read ten times a second
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _machine_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
