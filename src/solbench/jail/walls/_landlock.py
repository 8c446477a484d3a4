"""Landlock: an allow list of files, no TCP, no abstract sockets or signals across the wall."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntFlag
from pathlib import Path

from solbench.jail.walls import _libc


class Access(IntFlag):
    """Rights below a path. Numbers are the kernel's."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEVICE = 1 << 15


_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL = (1 << 16) - 1
_NET_TCP = 0b11  # bind and connect
_SCOPES = 0b11  # abstract unix sockets, signals
_FILE_ONLY = (
    Access.EXECUTE | Access.WRITE_FILE | Access.READ_FILE | Access.TRUNCATE | Access.IOCTL_DEVICE
)

READ = Access.READ_FILE | Access.READ_DIR
DEVICE = Access.READ_FILE | Access.WRITE_FILE | Access.READ_DIR | Access.IOCTL_DEVICE
SCRATCH = Access(_ALL) & ~(
    Access.MAKE_CHAR | Access.MAKE_BLOCK | Access.EXECUTE | Access.IOCTL_DEVICE
)


@dataclass(frozen=True, slots=True)
class AllowList:
    """What may be reached; paths that do not exist are passed over."""

    read: tuple[str, ...] = ()
    execute: tuple[str, ...] = ()
    """Programs that may be started (and read)."""
    device: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    """Folders to read and write in."""
    rules: dict[str, Access] = field(default_factory=dict)
    """Anything else."""

    def entries(self) -> Iterable[tuple[str, Access]]:
        yield from ((path, READ) for path in self.read)
        yield from ((path, READ | Access.EXECUTE) for path in self.execute)
        yield from ((path, DEVICE) for path in self.device)
        yield from ((path, SCRATCH) for path in self.scratch)
        yield from self.rules.items()


def abi() -> int:
    """Version of the kernel's Landlock. Raises ``OSError`` where there is none."""
    return _libc.syscall("landlock_create_ruleset", 0, 0, 1)


def _handled(version: int) -> int:
    return _ALL_BY_ABI.get(version, _ALL)


def _create(version: int) -> int:
    """A ruleset that handles everything that this version can."""
    words = (
        _handled(version),
        _NET_TCP if version >= 4 else 0,
        _SCOPES if version >= 6 else 0,
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    attribute = (ctypes.c_uint64 * 3)(*words)
    return _libc.syscall("landlock_create_ruleset", ctypes.addressof(attribute), size, 0)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def _add(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not Path(f"/proc/self/fd/{fd}").is_dir():
            access &= _FILE_ONLY
        rule = _PathBeneath(access, fd)
        _libc.syscall("landlock_add_rule", ruleset, 1, ctypes.addressof(rule), 0)
    finally:
        os.close(fd)


def restrict(allowed: AllowList) -> int:
    """Shut this thread (and all it starts) in; returns the ABI version. Needs ``no_new_privs``."""
    version = abi()
    ruleset = _create(version)
    try:
        for path, access in allowed.entries():
            _add(ruleset, path, int(access) & _handled(version))
        _libc.syscall("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)
    return version
