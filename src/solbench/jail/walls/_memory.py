"""Mapping a slot's memory at a chosen address, its pages present."""

from __future__ import annotations

import mmap

from solbench.jail.walls import _libc

_MAP_FIXED = 0x10
_MADV_POPULATE_READ, _MADV_POPULATE_WRITE = 22, 23


def map_fixed(address: int, length: int, fd: int, sharing: int) -> int:
    """Map ``length`` bytes of ``fd``, readable and writable, over ``address`` (0: anywhere).

    ``sharing`` is ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``. Returns the address; 0 for no bytes.
    """
    if not length:
        return 0
    fixed = _MAP_FIXED if address else 0
    return _libc.mmap(
        address or None, length, mmap.PROT_READ | mmap.PROT_WRITE, sharing | fixed, fd
    )


def populate(address: int, length: int, sharing: int) -> None:
    """Make the pages present, so that a timed call meets no page fault.

    Shared pages become writable; private ones only readable, since writing would copy them.
    """
    if not length:
        return
    advice = _MADV_POPULATE_WRITE if sharing == mmap.MAP_SHARED else _MADV_POPULATE_READ
    try:
        _libc.madvise(address, length, advice)
    except OSError:  # before Linux 5.14
        _touch(address, length)


def _touch(address: int, length: int) -> None:
    for offset in range(0, length, mmap.PAGESIZE):
        _libc.peek(address + offset)
