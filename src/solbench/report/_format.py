"""Numbers as people read them: three significant digits and a unit that fits."""

from __future__ import annotations

import math
from collections.abc import Mapping

_TIMES_MS = ((1e3, "s"), (1.0, "ms"), (1e-3, "µs"), (1e-6, "ns"))
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_BINARY = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))

ABSENT = "—"
_LEAST_SHARE = 0.01
"""A smaller share of a peak is no number worth reading."""


def significant(value: float, digits: int = 3) -> str:
    """``digits`` significant digits without an exponent: 0.0123, 1.23, 123, 1230."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # Rounding may add a digit (9.999 -> 10.0), which then is one decimal too many.
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def duration(milliseconds: float | None) -> str:
    """A time in the largest unit in which it is at least 1."""
    if milliseconds is None:
        return ABSENT
    for scale, unit in _TIMES_MS:
        if float(significant(milliseconds / scale)) >= 1:
            return f"{significant(milliseconds / scale)} {unit}"
    return f"{significant(milliseconds / 1e-6)} ns"


def counted(number: int, noun: str) -> str:
    """``1 problem``, ``2 problems``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def share(part: float) -> str:
    """``45%``; what would round to nothing is under 1 %."""
    return f"{part:.0%}" if part >= _LEAST_SHARE else "under 1%"


def half_width(low: float, high: float, middle: float) -> str:
    """Half the interval as a share of its middle: ``±0.5%``."""
    if middle <= 0:
        return ""
    share = 50.0 * (high - low) / middle
    return f"±{share:.1f}%" if share < 9.95 else f"±{share:.0f}%"


def ratio(value: float | None) -> str:
    """A factor: ``1.07×``."""
    return ABSENT if value is None else f"{significant(value)}×"


def score(value: float | None) -> str:
    """A score with three decimals."""
    return ABSENT if value is None else f"{value:.3f}"


def amount(value: float, unit: str) -> str:
    """A count with a decimal prefix: ``1.23 GFLOP``; whole below 1000; bytes in binary units."""
    if unit in ("B", "byte", "bytes"):
        return size(value)
    for scale, prefix in _PREFIXES:
        if value >= scale:
            return f"{significant(value / scale)} {prefix}{unit}"
    shown = f"{value:.0f}" if value == int(value) else significant(value)
    return f"{shown} {unit}".rstrip()


def size(byte_count: float) -> str:
    """Bytes in binary units: ``1.50 MiB``."""
    for scale, unit in _BINARY:
        if byte_count >= scale:
            return f"{significant(byte_count / scale)} {unit}"
    return f"{byte_count:.0f} B"


def axes(values: Mapping[str, int]) -> str:
    """``batch=4 hidden=4096``."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def short_uuid(uuid: str) -> str:
    """The first block of a UUID; other names whole up to 12 characters."""
    head = uuid.split("-", 1)[0]
    return head if len(head) == 8 and head != uuid else uuid[:12]
