"""Where two bounds differ, figure by figure and term by term. Works on records, fresh or read from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_FIGURES = (
    ("T_SOL", "t_sol_ms", "ms"), ("T_floor", "t_floor_ms", "ms"),
    ("T_attainable", "t_attainable_ms", "ms"), ("binds", "binding", ""),
    ("hardware", "hardware", ""), ("clock", "clock_mhz", "MHz"), ("capture", "capture", ""),
    ("precision", "precision", ""), ("complete", "complete", ""),
    ("read", "dram_read_bytes", "B"), ("written", "dram_write_bytes", "B"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of two bounds."""

    what: str
    unit: str
    first: float | str | None
    """``None``: this bound has no such figure."""
    second: float | str | None

    @property
    def ratio(self) -> float | None:
        """Second over first, for numbers."""
        if isinstance(self.first, str) or isinstance(self.second, str):
            return None
        return self.second / self.first if self.first and self.second is not None else None


def compare_records(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Difference, ...]:
    """The figures that differ, in the order in which a bound is read.

    Both are records of ``solbench bound --json`` or ``explain --json``; terms, tensors and operations
    are compared where both have them.
    """
    rows = [*_figures(first, second), *_matrix(first, second)]
    for list_key, name_keys, value_key, unit in (
        ("terms", ("resource",), "time_ms", "ms"),
        ("traffic", ("direction", "tensor"), "bytes", "B"),
        ("nodes", ("op", "location"), "matrix_flops", "FLOP"),
    ):
        if list_key in first and list_key in second:
            ours = _table(first[list_key], name_keys, value_key)
            theirs = _table(second[list_key], name_keys, value_key)
            rows += _merged(list_key.removesuffix("s"), ours, theirs, unit)
    return tuple(row for row in rows if not _same(row.first, row.second))


def _figures(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[Difference]:
    for what, key, unit in _FIGURES:
        yield Difference(what, unit, _plain(first.get(key)), _plain(second.get(key)))


def _plain(value: Any) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return float(value)


def _matrix(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    return _merged(
        "matrix",
        dict(first.get("matrix_flops") or {}),
        dict(second.get("matrix_flops") or {}),
        "FLOP",
    )


def _table(rows: Any, name_keys: tuple[str, ...], value_key: str) -> dict[str, float]:
    """Equal names add: an operation in a loop is many rows."""
    result: dict[str, float] = {}
    for row in rows:
        name = " ".join(str(row[key]) for key in name_keys).strip()
        result[name] = result.get(name, 0.0) + float(row[value_key])
    return result


def _merged(
    kind: str, first: Mapping[str, float], second: Mapping[str, float], unit: str
) -> list[Difference]:
    names = dict.fromkeys([*first, *second])
    return [Difference(f"{kind} {n}", unit, first.get(n), second.get(n)) for n in names]


def _same(first: float | str | None, second: float | str | None) -> bool:
    if isinstance(first, float | int) and isinstance(second, float | int):
        return abs(first - second) <= 1e-9 * max(abs(first), abs(second))
    return first == second
