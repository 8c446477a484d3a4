"""Memory that a process holds without its pages being mapped, so that it is none of its resident memory.

The pages of shared memory stay when a process lets go of them (``MADV_DONTNEED``), as long as it keeps the
mapping, or a descriptor of the file without a name that stands behind it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_BLOCK_BYTES = 512
"""Unit of ``st_blocks`` whatever the file system."""
_SHARED_MEMORY = (b"/dev/zero (deleted)", b"/memfd:")
"""How the kernel names what stands behind shared memory without a file of its own."""


class Unmapped:
    """Looks at a worker when the machine's shared memory has grown by more than the worker may have."""

    def __init__(self) -> None:
        self._known_bytes = _shared_memory_bytes()
        """Of the whole machine, when none of its growth was the worker's."""

    def bytes(self, processes: Iterable[int], limit_bytes: int) -> int:
        """What they may hold so; 0 while the machine has not lost more than the limit.

        The kernel tells the size of a mapping to everyone, and how many of its pages exist to the
        administrator only: the size counts, and no more than the machine has lost.
        """
        now = _shared_memory_bytes()
        grown = now - self._known_bytes
        if grown <= limit_bytes:
            return 0
        held = min(grown, sum(max(_mapped(each), _opened(each)) for each in processes))
        if held <= limit_bytes:
            self._known_bytes = now
        return held


def _shared_memory_bytes() -> int:
    for line in Path("/proc/meminfo").read_bytes().splitlines():
        if line.startswith(b"Shmem:"):
            return int(line.split()[1]) << 10
    return 0


def _mapped(process: int) -> int:
    """Sizes of its mappings of shared memory."""
    return sum(_sizes(process))


def _sizes(process: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/maps").read_bytes().splitlines():
            place, permissions, _, _, _, *name = line.split(None, 5)
            if permissions.endswith(b"s") and name and name[0].startswith(_SHARED_MEMORY):
                start, _, end = place.partition(b"-")
                yield int(end, 16) - int(start, 16)


def _opened(process: int) -> int:
    """Of files without a name that it has open: descriptors of shared memory are among them."""
    held: dict[tuple[int, int], int] = {}
    with contextlib.suppress(OSError):
        for link in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                found = link.stat()
                if not found.st_nlink:
                    held[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK_BYTES
    return sum(held.values())
