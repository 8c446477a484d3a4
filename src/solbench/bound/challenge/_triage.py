"""A kernel is faster than its bound: what would explain it, before the bound is blamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from solbench.bound._price import price
from solbench.bound._result import Bound, Contraction
from solbench.hardware import Hardware

Kind = Literal[
    "not_faster",
    "write_absorbed",
    "gate_too_loose",
    "nonclassical",
    "clock",
    "estimated_peaks",
    "rates",
]
WINOGRAD_SHARE = 16 / 36
"""Multiplications that F(2×2, 3×3) keeps of a 3×3 convolution (Lavin and Gray, 2016)."""
STRASSEN_SHARE = 7 / 8
"""Multiplications that one level of Strassen's algorithm keeps of a product."""
STRASSEN_EDGE = 1024
"""Smallest edge of a product at which one level is known to pay on GPUs."""
LARGE_TAPS = 49
"""Taps from which on a convolution by Fourier transform is common: no share of the direct work bounds it."""


@dataclass(frozen=True, slots=True)
class Triage:
    """One explanation, and whether it is enough for the claimed time."""

    kind: Kind
    explains: bool
    detail: str


def triage(bound: Bound, latency_ms: float, hardware: Hardware) -> tuple[Triage, ...]:
    """Every explanation that can be decided from the bound. The bound must be complete."""
    t_sol, t_floor = bound.t_sol_ms, bound.t_floor_ms
    assert t_sol is not None
    assert t_floor is not None
    assert bound.demand is not None
    if latency_ms >= t_sol:
        return (
            Triage("not_faster", True, f"{latency_ms:.6g} ms is no less than T_SOL {t_sol:.6g} ms"),
        )
    found = [*_writes(bound, latency_ms, t_floor), *_peaks(bound, hardware, latency_ms)]
    if bound.binding == "matrix":
        found += [*_precision(bound, hardware, latency_ms), *_nonclassical(bound, latency_ms)]
    return (*found, _rates(bound, latency_ms))


def _writes(bound: Bound, latency_ms: float, t_floor_ms: float) -> Iterator[Triage]:
    if t_floor_ms < (bound.t_sol_ms or 0.0):
        detail = f"T_floor, with writes absorbed by the L2, is {t_floor_ms:.6g} ms"
        yield Triage("write_absorbed", latency_ms >= t_floor_ms, detail)


def _peaks(bound: Bound, hardware: Hardware, latency_ms: float) -> Iterator[Triage]:
    if hardware.calibrated:
        yield Triage(
            "estimated_peaks", True, "peaks were measured here, and a better kernel may pass them"
        )
        return
    highest = max(hardware.clocks_mhz.values())
    if bound.clock_mhz is not None and bound.clock_mhz < highest and bound.demand is not None:
        faster = price(bound.demand, hardware, highest).t_sol_ms
        detail = f"at the highest clock, {highest:.0f} MHz, T_SOL is {faster:.6g} ms"
        yield Triage("clock", latency_ms >= faster, detail)


def _precision(bound: Bound, hardware: Hardware, latency_ms: float) -> Iterator[Triage]:
    """The same products in the fastest class of the device."""
    assert bound.demand is not None
    rates = hardware.matrix_flops_per_sm_per_clk
    if not rates or bound.clock_mhz is None:
        return
    fastest = max(rates, key=lambda name: rates[name])
    flops = sum(bound.matrix_flops.values())
    narrow = replace(bound.demand, matrix_flops={fastest: flops}, mixed_flops={}, admitted_flops={})
    lowest = price(narrow, hardware, bound.clock_mhz).t_sol_ms
    if lowest < (bound.t_sol_ms or 0.0):
        detail = (
            f"with all products in {fastest} T_SOL is {lowest:.6g} ms: "
            "look for a lower precision that the tolerance lets through"
        )
        yield Triage("gate_too_loose", latency_ms >= lowest, detail)


def _nonclassical(bound: Bound, latency_ms: float) -> Iterator[Triage]:
    assert bound.demand is not None
    t_sol = bound.t_sol_ms or 0.0
    shares = [(_share(each), each.node) for each in bound.demand.contractions]
    if not shares:
        return
    share, node = min(shares)
    if share < 1:
        what = "Winograd or a Fourier transform" if share < STRASSEN_SHARE else "Strassen"
        detail = f"{node}: {what} needs fewer multiplications, down to {share * t_sol:.6g} ms"
        yield Triage("nonclassical", latency_ms >= share * t_sol, detail)


def _share(each: Contraction) -> float:
    """Of its multiplications, the fewest that a known algorithm keeps."""
    if each.windows:
        taps = 1
        for _, own, stride, _ in each.windows:
            taps *= own if stride == 1 else 1
        if taps >= LARGE_TAPS:
            return 0.0
        return WINOGRAD_SHARE if taps >= 9 else 1.0
    large = min(each.rows, each.columns, each.inner) >= STRASSEN_EDGE
    return STRASSEN_SHARE if large else 1.0


def _rates(bound: Bound, latency_ms: float) -> Triage:
    """What the kernel would have reached of the binding resource, if its work is as counted."""
    seconds = latency_ms * 1e-3
    if bound.binding == "matrix":
        flops = sum(bound.matrix_flops.values())
        detail = f"the counted products in that time are {flops / seconds:.4g} FLOP/s"
    else:
        term = next(t for t in bound.terms if t.resource == "dram" and t.enters == "t_sol")
        detail = (
            f"the demanded bytes in that time are {term.amount / seconds:.4g} B/s; "
            f"the file's peak is {term.rate_per_s:.4g} B/s"
        )
    return Triage("rates", False, detail)
