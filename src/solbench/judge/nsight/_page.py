"""Reading Nsight Compute's raw page: a table of comma-separated values, one row a kernel.

Columns are found by their names and converted by the units in the row below them, so that what another
version calls or measures differently is left out rather than misread.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

_MS = {
    "ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0,
    "s": 1e3, "second": 1e3,
}  # fmt: skip
_BYTES = {"byte": 1.0, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "tbyte": 1e12}
_SHARE = {"%": 0.01}
_PLAIN = {"": 1.0, "register/thread": 1.0}
_SHARED = {
    **_BYTES, **{f"{unit}/block": factor for unit, factor in _BYTES.items()},
}  # fmt: skip
_STALL = re.compile(r"issue_stalled_(?P<reason>[a-z_]+?)(?:_per_issue_active)?\.ratio$")
_NO_STALL = "selected"
"""Warps that issue; the ratio of this one is no waiting."""


@dataclass(frozen=True, slots=True)
class NsightKernel:
    """One launch of a kernel. Numbers are ``None`` where the page does not have them."""

    name: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    duration_ms: float | None
    """At the clocks as they were, caches flushed before."""
    dram_read_bytes: float | None
    dram_write_bytes: float | None
    dram_share: float | None
    """Of the memory's peak, over the kernel's time."""
    sm_share: float | None
    """Of the peak of the multiprocessors' busiest pipe."""
    occupancy: float | None
    """Share of the warps that a multiprocessor can hold."""
    registers: int | None
    """For each thread."""
    shared_bytes: int | None
    """For each block."""
    stall: str
    """What warps wait for most, such as ``long_scoreboard``; empty if the page does not tell."""
    stall_share: float | None
    """Of the cycles between two instructions of a warp."""


@dataclass(frozen=True, slots=True)
class _Row:
    cells: Mapping[str, str]
    units: Mapping[str, str]

    def number(self, factors: Mapping[str, float], *names: str) -> float | None:
        """The first of these columns that is there, in a unit that is known."""
        for name in names:
            factor = factors.get(self.units.get(name, "").strip().lower())
            value = _number(self.cells.get(name, ""))
            if factor is not None and value is not None:
                return value * factor
        return None

    def stalls(self) -> dict[str, float]:
        """Reason → cycles."""
        found: dict[str, float] = {}
        for name, text in self.cells.items():
            match, value = _STALL.search(name), _number(text)
            if match and value is not None:
                found[match["reason"]] = value
        return found


def read_nsight(text: str) -> tuple[NsightKernel, ...]:
    """The kernels of the raw page in what ``ncu --csv --page raw`` wrote; none if there is no page.

    Lines before the page are the tool's own notes, or the program's output.
    """
    table = _table(text)
    if len(table) < 2:
        return ()
    head, units, *rows = table
    known = dict(zip(head, units, strict=False))
    return tuple(
        _kernel(_Row(dict(zip(head, row, strict=False)), known))
        for row in rows
        if len(row) == len(head)
    )


def _table(text: str) -> list[list[str]]:
    lines = text.splitlines()
    starts = [place for place, line in enumerate(lines) if _is_head(line)]
    return list(csv.reader(lines[starts[-1] :])) if starts else []


def _is_head(line: str) -> bool:
    return line.startswith('"ID",') and '"Kernel Name"' in line


def _kernel(row: _Row) -> NsightKernel:
    stalls = row.stalls()
    waits = {reason: cycles for reason, cycles in stalls.items() if reason != _NO_STALL}
    stall = max(waits, key=lambda reason: waits[reason], default="")
    total = sum(stalls.values())
    registers = row.number(_PLAIN, "launch__registers_per_thread")
    return NsightKernel(
        name=row.cells["Kernel Name"],
        grid=_sizes(row.cells.get("Grid Size", "")),
        block=_sizes(row.cells.get("Block Size", "")),
        duration_ms=row.number(_MS, "gpu__time_duration.sum", "gpu__time_duration.avg"),
        dram_read_bytes=row.number(_BYTES, "dram__bytes_read.sum"),
        dram_write_bytes=row.number(_BYTES, "dram__bytes_write.sum"),
        dram_share=row.number(
            _SHARE,
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        ),
        sm_share=row.number(_SHARE, "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
        occupancy=row.number(_SHARE, "sm__warps_active.avg.pct_of_peak_sustained_active"),
        registers=None if registers is None else round(registers),
        shared_bytes=_shared_bytes(row),
        stall=stall if waits and waits[stall] > 0 else "",
        stall_share=waits[stall] / total if waits and total > 0 else None,
    )


def _shared_bytes(row: _Row) -> int | None:
    parts = [
        row.number(_SHARED, f"launch__shared_mem_per_block_{part}")
        for part in ("static", "dynamic")
    ]
    known = [part for part in parts if part is not None]
    return round(sum(known)) if known else None


def _number(text: str) -> float | None:
    """``1,234.5`` too; ``None`` for ``n/a`` and the like."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _sizes(text: str) -> tuple[int, ...]:
    """``(64, 1, 1)`` → its numbers."""
    return tuple(int(each) for each in re.findall(r"\d+", text))
