"""Reading the tables that a worker's profiler leaves in its log: kernels, or a CPU's operations.

Advice, all of it: the submission may have written the log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ROW = re.compile(
    r"^\s*(?P<share>[\d.]+)%\s+(?P<us>[\d.]+) us\s+(?P<count>\d+) x  "
    r"(?:\[(?P<note>[^\]]*)\] )?(?P<name>.*)$",
    re.MULTILINE,
)
_KERNELS = re.compile(
    r"kernels of one call, largest gap (?P<largest>-?[\d.]+) us(?:, in all (?P<gaps>[\d.]+) us)?:"
)
_OPERATIONS = re.compile(
    r"operations of one call of (?P<call>[\d.]+) us, (?P<outside>[\d.]+) us outside them:"
)
_BYTES = re.compile(r"^(-?\d+) B$")


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel was launched; ``None`` or empty for what the profiler did not say."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    registers: int | None
    """For each thread."""
    shared_bytes: int | None
    """For each block, static and dynamic."""
    occupancy: float | None
    """Share of a multiprocessor's warps that can be resident: the profiler's estimate."""


NO_LAUNCH = Launch((), (), None, None, None)


@dataclass(frozen=True, slots=True)
class KernelTime:
    """One kernel of one call, launched in one way, by the worker's own profiler."""

    name: str
    total_ms: float
    """Of all these launches."""
    launches: int
    launch: Launch = NO_LAUNCH


@dataclass(frozen=True, slots=True)
class KernelTable:
    """The kernels of a call on a GPU."""

    kernels: tuple[KernelTime, ...]
    largest_gap_ms: float | None
    gaps_ms: float | None = None
    """All gaps together: from the first start to the last end, what no kernel fills."""


@dataclass(frozen=True, slots=True)
class OperationTime:
    """One of PyTorch's operations in a call on a CPU."""

    name: str
    own_ms: float
    """Operations that it calls left out."""
    calls: int
    taken_bytes: int
    """Memory taken less memory given back."""


@dataclass(frozen=True, slots=True)
class OperationTable:
    """The operations of a call on a CPU; ``call_ms`` is ``None`` where nothing was profiled."""

    operations: tuple[OperationTime, ...]
    call_ms: float | None
    """The whole call, slowed down by the profiler."""
    outside_ms: float | None
    """In Python, and in code that is not PyTorch's."""


def read_kernel_table(log: str) -> KernelTable:
    """The last table in a log; no kernels if there is none."""
    heads = list(_KERNELS.finditer(log))
    if not heads:
        return KernelTable((), None)
    head = heads[-1]
    rows = tuple(
        KernelTime(row["name"].strip(), _ms(row["us"]), int(row["count"]), _launch(row["note"]))
        for row in _ROW.finditer(log, head.end())
    )
    gaps = head["gaps"]
    return KernelTable(rows, _ms(head["largest"]), None if gaps is None else _ms(gaps))


def read_operation_table(log: str) -> OperationTable:
    """The last table in a log; no operations if there is none."""
    heads = list(_OPERATIONS.finditer(log))
    if not heads:
        return OperationTable((), None, None)
    head = heads[-1]
    rows = tuple(
        OperationTime(row["name"].strip(), _ms(row["us"]), int(row["count"]), _bytes(row["note"]))
        for row in _ROW.finditer(log, head.end())
    )
    return OperationTable(rows, _ms(head["call"]), _ms(head["outside"]))


def _ms(microseconds: str) -> float:
    try:
        return float(microseconds) / 1e3
    except ValueError:  # "1.2.3": someone else wrote it
        return 0.0


def _bytes(note: str | None) -> int:
    found = _BYTES.match(note or "")
    return int(found[1]) if found else 0


def _launch(note: str | None) -> Launch:
    """From ``grid 8x1x1 block 256x1x1 regs 32 smem 0 occ 50``, any part of which may be missing."""
    words = (note or "").split()
    said = dict(zip(words[::2], words[1::2], strict=False))
    occupancy = _integer(said.get("occ"))
    return Launch(
        _sizes(said.get("grid")),
        _sizes(said.get("block")),
        _integer(said.get("regs")),
        _integer(said.get("smem")),
        None if occupancy is None else occupancy / 100,
    )


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"\d{1,18}", text) else None


def _sizes(text: str | None) -> tuple[int, ...]:
    found = text is not None and re.fullmatch(r"\d{1,10}(x\d{1,10}){0,2}", text)
    return tuple(int(each) for each in text.split("x")) if text and found else ()
