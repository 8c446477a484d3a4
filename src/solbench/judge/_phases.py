"""When the parts of an evaluation began and ended: where the time goes before a verdict is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """One part, on the clock that all processes of a machine share (``time.monotonic``)."""

    name: str
    began_s: float
    ended_s: float

    @property
    def seconds(self) -> float:
        return self.ended_s - self.began_s


class Phases:
    """Parts as they end. They overlap, and lie within each other."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ended: list[Phase] = []

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """To be entered around a part; any thread may."""
        began_s = self._clock()
        try:
            yield
        finally:
            self._ended.append(Phase(name, began_s, self._clock()))

    def take(self) -> tuple[Phase, ...]:
        """Those that have ended since they were last taken, in the order in which they began."""
        ended, self._ended = self._ended, []
        return tuple(sorted(ended, key=lambda each: each.began_s))
