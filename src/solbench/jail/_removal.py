"""Removing a folder that untrusted code has filled."""

from __future__ import annotations

import contextlib
import math
import os
import stat
import time
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(folder: Path, seconds: float = math.inf) -> None:
    """Remove a folder, as far as that can be done, and within so many seconds: a folder of a hundred thousand
    others can take minutes. No error if it is not there, or something stays.

    However deep it is, and whatever the modes of its folders: it is walked with one descriptor and no long
    path, and no function calls itself. Whoever has filled it must be dead.
    """
    with contextlib.suppress(OSError):
        _empty(os.open(folder, _FOLDER), time.monotonic() + seconds)
        folder.rmdir()


def _empty(place: int, deadline: float) -> None:
    """Remove what is in a folder, whose descriptor is closed. Raises ``OSError`` where the way up is lost."""
    path: list[str] = []
    waiting = [_remove_files(place, deadline)]
    try:
        while waiting and time.monotonic() < deadline:
            if waiting[-1]:
                name = waiting[-1].pop()
                with contextlib.suppress(OSError):
                    os.chmod(name, 0o700, dir_fd=place)
                    place = _step(place, name)
                    path.append(name)
                    waiting.append(_remove_files(place, deadline))
                continue
            waiting.pop()
            if path:
                place = _step(place, "..")
                with contextlib.suppress(OSError):
                    os.rmdir(path.pop(), dir_fd=place)
    finally:
        os.close(place)


def _step(place: int, name: str) -> int:
    """A descriptor of the folder of this name in place of that of the one that it lies in."""
    there = os.open(name, _FOLDER, dir_fd=place)
    os.close(place)
    return there


def _remove_files(folder: int, deadline: float) -> list[str]:
    """Remove what are no folders; the names of those that are."""
    folders = []
    for name in os.listdir(folder):
        if time.monotonic() > deadline:
            break
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
                folders.append(name)
            else:
                os.unlink(name, dir_fd=folder)
    return folders
