"""What untrusted code holds in files: a limit on memory would not say much without one on these."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_SOON_COUNTED = 2000
_EVER_COUNTED = 200_000
"""Many files are slow to count, and to make."""
_BLOCK_BYTES = 512
"""Unit of ``st_blocks`` whatever the file system."""


class Files:
    """The files of a worker: in its folder, and those that are open but have no name any more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._free_bytes = _free_bytes(folder)
        """Of the file system, when all its loss was someone else's."""

    def bytes(self, processes: Iterable[int], limit_bytes: int) -> int:
        """What they take. Looked at in haste, unless the file system has lost more than the limit meanwhile:
        then everything is counted, and what cannot be counted is held against the worker."""
        seen = _folder_bytes(self._folder, _SOON_COUNTED, 0)
        free = _free_bytes(self._folder)
        lost = self._free_bytes - free
        if seen > limit_bytes or lost <= limit_bytes:
            return seen
        seen = _folder_bytes(self._folder, _EVER_COUNTED, lost)
        seen += sum(_nameless_bytes(process, self._folder) for process in processes)
        if seen <= limit_bytes:
            self._free_bytes = free
        return seen


def _free_bytes(folder: Path) -> int:
    try:
        state = os.statvfs(folder)
    except OSError:  # the worker has ended meanwhile
        return 0
    return state.f_bavail * state.f_frsize


def _folder_bytes(folder: Path, most: int, unseen_bytes: int) -> int:
    """What lies below, in at most so many entries. ``unseen_bytes`` stands for more of them, and for each
    folder that cannot be looked into: its path is too long, say."""
    total = seen = 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > most:
                        return total + unseen_bytes
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
        except FileNotFoundError:
            continue  # removed meanwhile
        except OSError:
            total += unseen_bytes
    return total


def _nameless_bytes(process: int, folder: Path) -> int:
    """Of files on the folder's file system that a process has open, or mapped, but no folder names."""
    held: dict[int, int] = {}
    with contextlib.suppress(OSError):
        device = folder.stat().st_dev
        for kind in ("fd", "map_files"):
            for link in Path(f"/proc/{process}/{kind}").iterdir():
                with contextlib.suppress(OSError):
                    found = link.stat()
                    if found.st_dev == device and not found.st_nlink:
                        held[found.st_ino] = found.st_blocks * _BLOCK_BYTES
    return sum(held.values())
