"""The few libc entries that the standard library does not offer."""

from __future__ import annotations

import ctypes
import os

from solbench.jail.walls import _syscalls

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip

MAP_FAILED = ctypes.c_void_p(-1).value


def check(result: int, what: str) -> int:
    """Raise ``OSError`` naming ``what`` if the call answered a negative number."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def syscall(name: str, *arguments: int) -> int:
    """A raw system call by name; every argument is passed as a 64-bit integer."""
    words = [ctypes.c_long(argument) for argument in arguments]
    return check(_libc.syscall(ctypes.c_long(_syscalls.required(name)), *words), name)


def prctl(option: int, *arguments: int) -> int:
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return check(_libc.prctl(ctypes.c_int(option), *words), f"prctl({option})")


def mmap(address: int | None, length: int, protection: int, flags: int, fd: int) -> int:
    """``mmap`` at offset 0 that can name an address, which the standard library's cannot."""
    found = _libc.mmap(address, length, protection, flags, fd, 0)
    if found is None or found == MAP_FAILED:
        code = ctypes.get_errno()
        raise OSError(code, f"mmap of {length} bytes: {os.strerror(code)}")
    return int(found)


def madvise(address: int, length: int, advice: int) -> None:
    pointer, size = ctypes.c_void_p(address), ctypes.c_size_t(length)
    check(_libc.madvise(pointer, size, ctypes.c_int(advice)), "madvise")


def unshare(flags: int) -> None:
    check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def peek(address: int) -> int:
    """The byte at an address."""
    return ctypes.c_ubyte.from_address(address).value
