"""Timing a call on a GPU by an event pair, with cold caches where they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Flush:
    """Leaves the last cache full of clean lines: written twice over, then read."""

    def __init__(self, device: str, l2_bytes: int) -> None:
        self._written = torch.empty(2 * l2_bytes // 4, dtype=torch.int32, device=device)
        self._read = torch.zeros(l2_bytes // 4, dtype=torch.int32, device=device)

    def __call__(self) -> None:
        self._written.fill_(1)
        self._read.sum()


def event_ms(run: Callable[[], Any], meanwhile: Callable[[], None] | None = None) -> float:
    """Milliseconds of one call. ``meanwhile`` is done once the call is enqueued."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    run()
    end.record()
    if meanwhile is not None:
        meanwhile()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)
