"""Temporary folders that do not outlive their owner for long.

Whoever owns one holds a lock on it, which the kernel takes back when the process ends, however it ends. The
next owner of such a folder removes those whose lock is free.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path

from solbench.jail._removal import remove_tree

_YOUNG_S = 60.0
"""A folder is made a moment before it is locked: younger ones are left alone."""


_REMOVAL_S = 10.0
"""What takes longer is left to the next owners."""


class OwnedFolder:
    """A fresh folder under ``parent``, the system's temporary folder by default. ``remove`` it when done."""

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        place = parent or Path(tempfile.gettempdir())
        _sweep(place, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        # Some network file systems have no locks; what lies there is then never swept.
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Idempotent."""
        remove_tree(self.path, _REMOVAL_S)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _sweep(place: Path, prefix: str) -> None:
    """Remove what dead owners left."""
    for folder in place.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            if _is_left(folder):
                remove_tree(folder, _REMOVAL_S)


def _is_left(folder: Path) -> bool:
    """Whether it is ours, old enough, and no one's any more. Raises ``OSError`` if it is gone or locked."""
    seen = folder.lstat()
    if seen.st_uid != os.geteuid() or time.time() - seen.st_ctime < _YOUNG_S:
        return False
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(lock)
    return True
