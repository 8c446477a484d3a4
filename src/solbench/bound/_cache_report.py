"""Traffic against capacity for one demand on one device: what ``explain --cache`` shows."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.bound._cache_terms import Piece, pieces, traffic_floor
from solbench.bound._result import Demand
from solbench.errors import InputError
from solbench.hardware import Hardware


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """What must cross one level of the device, if all contractions have its whole capacity in turn."""

    name: str
    """``dram`` or ``l2``: the level whose traffic this is."""
    holds: str
    """What keeps the data on this side of it."""
    capacity_bytes: int
    traffic_bytes: float
    """Of the best tilings found: an estimate."""
    floor_bytes: float | None
    """Of every schedule, where one product is isolated enough to have a bound."""


@dataclass(frozen=True, slots=True)
class CachePiece:
    """One contraction, or a pair that shares on-chip data."""

    name: str
    times: int
    bits: int
    least_bytes: float
    """Each operand and result once."""
    traffic_bytes: tuple[float, ...]
    """At each level."""


@dataclass(frozen=True, slots=True)
class CacheReport:
    """Curves and levels; bytes of contractions only, pointwise work has nothing to keep."""

    levels: tuple[CacheLevel, ...]
    pieces: tuple[CachePiece, ...]
    capacities_bytes: tuple[float, ...]
    """Rising."""
    traffic_bytes: tuple[float, ...]
    """All contractions together at each of these."""

    @property
    def least_bytes(self) -> float:
        return self.traffic_bytes[-1]


def cache_report(demand: Demand, hardware: Hardware) -> CacheReport:
    """Raises ``InputError`` for a program without contractions: nothing in it is used twice."""
    parts = pieces(demand)
    if not parts:
        raise InputError(
            "no contraction: every element is used once, so capacity saves no traffic",
            key="--cache",
        )
    sizes = (
        ("dram", "L2, shared memory and registers", hardware.l2_bytes + hardware.on_chip_bytes),
        ("l2", "shared memory and registers of all SMs", hardware.on_chip_bytes),
    )
    steps = sorted({c * part.bits / 8 for part in parts for c in part.curve.capacities})
    first = max(part.curve.capacities[0] * part.bits / 8 for part in parts)
    steps = [c for c in steps if c >= first]
    return CacheReport(
        levels=tuple(_level(name, holds, size, parts, demand) for name, holds, size in sizes),
        pieces=tuple(_piece(part, [size for *_, size in sizes]) for part in parts),
        capacities_bytes=tuple(steps),
        traffic_bytes=tuple(sum(p.bytes_at(c) for p in parts) for c in steps),
    )


def _level(
    name: str, holds: str, capacity: int, parts: tuple[Piece, ...], demand: Demand
) -> CacheLevel:
    floor = traffic_floor(demand, capacity)
    moved = sum(part.bytes_at(capacity) for part in parts)
    return CacheLevel(name, holds, capacity, moved, None if floor is None else floor.bytes)


def _piece(part: Piece, capacities: list[int]) -> CachePiece:
    moved = tuple(part.bytes_at(c) for c in capacities)
    return CachePiece(part.name, part.times, part.bits, part.least_bytes, moved)
