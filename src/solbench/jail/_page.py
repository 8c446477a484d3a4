"""The worker's view of the page of integers that it shares with the judge."""

from __future__ import annotations

import ctypes
import mmap
import time

from solbench.jail.protocol import CLAIM_COUNT, PAGE_BYTES, Field
from solbench.jail.walls import map_fixed

_NAP_S, _LONG_NAP_S, _SHORT_NAPS = 50e-6, 500e-6, 2000


class Page:
    """The shared integers, seen from the worker."""

    def __init__(self, fd: int) -> None:
        # Not ``mmap.mmap``: that would keep a descriptor of the page open.
        self.address = map_fixed(0, PAGE_BYTES, fd, mmap.MAP_SHARED)
        self.fields = (
            memoryview((ctypes.c_char * PAGE_BYTES).from_address(self.address)).cast("B").cast("q")
        )

    def claim(self, call: int, nanoseconds: int) -> None:
        """Say what a call took: advice, never ranked."""
        self.fields[Field.CLAIMS + call % CLAIM_COUNT] = nanoseconds

    def next_command(self, last: int, looks: int) -> int:
        """Spin, then nap, until the sequence number changes."""
        fields, naps = self.fields, 0
        for _ in range(looks):
            if fields[0] != last:
                return fields[0]
        while fields[0] == last:
            time.sleep(_NAP_S if naps < _SHORT_NAPS else _LONG_NAP_S)
            naps += 1
        return fields[0]
