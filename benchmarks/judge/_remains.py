"""The processes of an evaluation, and what of it is left when it is over."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


def children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, path.read_text().split())
    return found


def descendants(pid: int) -> Iterator[int]:
    for child in children(pid):
        yield child
        yield from descendants(child)


def runs(pid: int, module: str) -> bool:
    with contextlib.suppress(OSError):
        return module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def judges() -> list[int]:
    return [pid for pid in children(os.getpid()) if runs(pid, "solbench.judge._service")]


def zygotes() -> list[int]:
    mine = [pid for judge in judges() for pid in children(judge)]
    return [pid for pid in mine if runs(pid, "solbench.jail.zygote")]


def workers() -> list[int]:
    """Of candidate and reference; a worker may have children of its own before the seal."""
    return [pid for zygote in zygotes() for pid in descendants(zygote)]


def builders() -> list[int]:
    """The jailed compiler and what it starts."""
    mine = [pid for judge in judges() for pid in children(judge)]
    launched = [pid for pid in mine if runs(pid, "solbench.jail.compiler")]
    return [each for pid in launched for each in (pid, *descendants(pid))]


@dataclass(frozen=True, slots=True)
class Remains:
    """What should be no more than before."""

    processes: tuple[str, ...]
    """Of ours, apart from those that this process still has as descendants by right."""
    folders: tuple[str, ...]
    shared: tuple[str, ...]
    mounts: int

    def beyond(self, known: Remains) -> list[str]:
        """In words; empty if there is nothing."""
        found = [f"process {each}" for each in self.processes]
        found += [f"folder {each}" for each in self.folders]
        found += [
            f"shared memory {each}" for each in set(self.shared) - set(known.shared) - in_use()
        ]
        if self.mounts > known.mounts:
            found.append(f"{self.mounts - known.mounts} mounts")
        return found


def remains(own: Path, seen: set[int]) -> Remains:
    """``seen``: every process that was ever noticed."""
    rightful = {os.getpid(), *judges(), *zygotes()}
    return Remains(
        processes=tuple(_shown(pid) for pid in _ours(seen) - rightful if _lives(pid)),
        folders=tuple(path.name for path in _left_folders(own)),
        shared=tuple(path.name for path in Path("/dev/shm").iterdir()),
        mounts=len(Path("/proc/self/mounts").read_text().splitlines()),
    )


def in_use() -> set[str]:
    """Shared memory that any living process maps: others' on this machine."""
    names: set[str] = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            lines = maps.read_text().splitlines()
            names |= {Path(line.split()[-1]).name for line in lines if "/dev/shm/" in line}
    return names


def _ours(seen: set[int]) -> set[int]:
    """Noticed ones, and whatever now works in our folder: an orphan has another parent."""
    return seen | set(descendants(os.getpid()))


def _lives(pid: int) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _shown(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return f"{pid} {words[-80:].decode(errors='replace')}"
    return str(pid)


def _left_folders(own: Path) -> Iterator[Path]:
    """The jail's one folder may stay while there is a zygote; what is in it may not."""
    jails = sorted(own.glob("solbench-jail-*"))
    yield from jails[len(zygotes()) :]
    for pattern in ("solbench-jail-*/worker-*", "solbench-build-*", "cache/artifacts/.staging-*"):
        yield from own.glob(pattern)


class Watch(threading.Thread):
    """Notices every process that comes into being below this one."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[int] = set()
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.02):
            self.seen |= set(descendants(os.getpid()))

    def end(self) -> None:
        self._over.set()
        self.join()
