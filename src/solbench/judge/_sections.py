"""Where the problem's own code runs, told to a process that watches: it may never return.

A page of integers is shared: which workload, what, and since when. Marking costs a microsecond.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

PAGE_BYTES = 4096


class Section(IntEnum):
    """What of the problem's code is running."""

    NONE = 0
    BOUND = 1
    REFERENCE = 2
    FLOAT64 = 3
    INPUTS = 4


NAMES = {
    Section.BOUND: "the derivation of its bound",
    Section.REFERENCE: "the reference",
    Section.FLOAT64: "the reference in float64",
    Section.INPUTS: "the generator of its inputs",
}


class Sections(Protocol):
    """Told when the problem's code is entered and left."""

    def within(self, workload: int, section: Section) -> AbstractContextManager[None]:
        """To be entered around the code. ``workload``: its number in the request."""


class Unwatched:
    """Nobody watches."""

    @contextmanager
    def within(self, workload: int, section: Section) -> Iterator[None]:
        yield


@dataclass(frozen=True, slots=True)
class Entered:
    """What runs now, and since when (``time.monotonic_ns``)."""

    workload: int
    section: Section
    since_ns: int

    @property
    def seconds(self) -> float:
        return (time.monotonic_ns() - self.since_ns) / 1e9


class SectionPage:
    """The page, on either side."""

    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, PAGE_BYTES)
        self._words = memoryview(self._map).cast("q")

    @staticmethod
    def create() -> int:
        """A descriptor for a new page, to be inherited."""
        descriptor = os.memfd_create("solbench-sections", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, PAGE_BYTES)
        return descriptor

    @contextmanager
    def within(self, workload: int, section: Section) -> Iterator[None]:
        words = self._words
        outer = words[0], words[1], words[2]
        words[0], words[1] = workload, time.monotonic_ns()
        words[2] = section
        try:
            yield
        finally:
            words[2] = Section.NONE
            words[0], words[1], words[2] = outer

    def entered(self) -> Entered | None:
        """What of a problem's code is running; ``None`` while it is our own."""
        seen = self._look()
        # The other side may be between two words: half of an old entry and half of a new one would be a
        # section that has run since the machine was started.
        while (again := self._look()) != seen:
            seen = again
        workload, since_ns, section = seen
        return Entered(workload, Section(section), since_ns) if section else None

    def _look(self) -> tuple[int, int, int]:
        words = self._words
        return words[0], words[1], words[2]

    def close(self) -> None:
        """Idempotent."""
        self._words.release()
        self._map.close()
