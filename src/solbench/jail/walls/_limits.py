"""Resource limits and descriptors."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable
from pathlib import Path

_FILE_BYTES = 2 << 30
"""Of one file: caps what compilers and caches may leave, and the size of a memfd."""
_DESCRIPTORS = 1024
_PROCESSES = 512
"""Processes and threads in the worker's user namespace; the kernel exempts root."""


def limit_resources(*, descriptors: int, own_user_namespace: bool) -> None:
    """No core dumps, bounded files, ``descriptors`` more than usual, no real-time rights.

    Address space stays free: CUDA reserves far more than it uses. Memory is watched by the judge; should the
    machine run out of it all the same, the kernel takes this process first.
    """
    Path("/proc/self/oom_score_adj").write_text("1000")
    for limit, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, _FILE_BYTES),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS + descriptors),
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        _lower(limit, value)
    if own_user_namespace:
        _lower(resource.RLIMIT_NPROC, _PROCESSES)


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(limit, (value, value))


def close_descriptors(keep: Iterable[int]) -> None:
    """Close every descriptor that is not in ``keep``."""
    kept = set(keep)
    for path in list(Path("/proc/self/fd").iterdir()):
        if int(path.name) not in kept:
            with contextlib.suppress(OSError):  # the listing's own descriptor is gone already
                os.close(int(path.name))
