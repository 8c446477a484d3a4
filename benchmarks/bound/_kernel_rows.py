"""Rows of a record of measured kernels: a bound beside times, what explains the gap, and sums over all rows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from _kernels import Case

from solbench.bound import Demand, Priced, analyse, capture, function_program, price
from solbench.hardware import Hardware

GAP = 1.5
"""From this multiple of T_SOL on a row says why."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a card said of one case."""

    least_us: float
    median_us: float
    kernels: tuple[tuple[str, float], ...]
    """Name and microseconds, the first few of them."""
    kernel_count: int
    kernel_us: float
    """Of all of them together."""
    sm_clock_mhz: float
    power_capped: bool


def bound_of(case: Case, args: Sequence[torch.Tensor], hardware: Hardware) -> tuple[Demand, Priced]:
    graph, rung = capture(function_program(case.function, args, name=case.name))
    demand = analyse(graph, rung)
    if demand.unknown_ops:
        raise ValueError(f"no rule for {', '.join(demand.unknown_ops)}")
    if case.matrix_class:
        flops = {case.matrix_class: sum(demand.matrix_flops.values())}
        demand = replace(demand, matrix_flops=flops, mixed_flops={})
    return demand, price(demand, hardware, hardware.clock_mhz())


def row_of(
    case: Case, demand: Demand, priced: Priced, measured: Measured, hardware: Hardware
) -> dict[str, Any]:
    t_sol_us = 1e3 * priced.t_sol_ms
    t_attainable_us = 1e3 * priced.t_attainable_ms
    row = {
        "family": case.family,
        "kernel": case.name,
        "t_sol_us": t_sol_us,
        "t_floor_us": 1e3 * priced.t_floor_ms,
        "t_attainable_us": t_attainable_us,
        "binding": priced.binding,
        "terms_us": {term.resource: 1e3 * term.time_ms for term in priced.terms},
        "least_us": measured.least_us,
        "median_us": measured.median_us,
        "ratio": measured.median_us / t_sol_us,
        "ratio_attainable": measured.median_us / t_attainable_us,
        "dram_bytes": demand.dram_read_bytes + demand.dram_write_bytes,
        "matrix_flops": sum(demand.matrix_flops.values()),
        "kernels": [{"name": name, "us": us} for name, us in measured.kernels],
        "kernel_count": measured.kernel_count,
        "kernel_us": measured.kernel_us,
        "sm_clock_mhz": measured.sm_clock_mhz,
        "power_capped": measured.power_capped,
    }
    routes = [note for note in priced.assumptions if "passes of" in note]
    row["cause"] = cause(row, hardware, routes) if row["ratio"] > GAP else ""
    return row


def cause(row: dict[str, Any], hardware: Hardware, routes: Sequence[str] = ()) -> str:
    """Time between kernels, several kernels, a clock below the bound's, or a kernel short of its peak.

    ``routes`` are the bound's ways to a product's accuracy by several passes, which libraries do not take.
    """
    found = []
    idle = row["median_us"] - row["kernel_us"]
    if idle > 0.25 * row["median_us"]:
        found.append(f"{idle:.1f} us of it is the event pair and gaps, not kernels")
    longest = max(
        row["kernels"], key=lambda kernel: kernel["us"], default={"name": "none", "us": 0.0}
    )
    share = longest["us"] / row["kernel_us"] if row["kernel_us"] else 0.0
    if share < 0.95:
        found.append(f"{row['kernel_count']} kernels, the longest {share:.0%}")
    clock = hardware.clock_mhz()
    if row["binding"] == "matrix" and row["sm_clock_mhz"] < 0.95 * clock:
        why = " (power cap)" if row["power_capped"] else ""
        found.append(f"SM clock {row['sm_clock_mhz']:.0f} of {clock:.0f} MHz{why}")
    if share >= 0.95:
        peak = row["t_sol_us"] / row["kernel_us"]
        found.append(f"one kernel at {peak:.0%} of the {row['binding']} peak")
        if row["binding"] == "matrix":
            found.extend(routes)
    return "; ".join(found) + f": {longest['name'][:60]}"


def sums(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many stand where: below T_SOL (none may), below T_attainable (its estimate was too high there)."""
    good = [row for row in rows if "error" not in row]
    below = [row["kernel"] for row in good if row["least_us"] < row["t_sol_us"]]
    faster = [row["kernel"] for row in good if row["median_us"] < row["t_attainable_us"]]
    reached = sorted(row["ratio_attainable"] for row in good)
    return {
        "kernels": len(good),
        "failed": len(rows) - len(good),
        "below_t_sol": len(below),
        "below": below,
        "median_ratio": statistics.median(row["ratio"] for row in good),
        "gaps_above_1_5": sum(row["ratio"] > GAP for row in good),
        "below_t_attainable": len(faster),
        "below_attainable": faster,
        "least_ratio_attainable": reached[0],
        "median_ratio_attainable": statistics.median(reached),
        "ratio_attainable_below_1_1": sum(ratio < 1.1 for ratio in reached),
        "rows": list(rows),
    }


HEADING = (
    f"{'family':12}{'kernel':36}{'T_SOL us':>10}{'T_att':>10}{'least us':>10}{'median':>10}"
    f"{'x SOL':>7}{'x att':>7}  cause"
)


def line(row: dict[str, Any]) -> str:
    """A row as it is printed."""
    start = f"{row['family']:12}{row['kernel']:36}"
    if "error" in row:
        return f"{start} {row['error'][:120]}"
    return (
        f"{start}{row['t_sol_us']:10.1f}{row['t_attainable_us']:10.1f}{row['least_us']:10.1f}"
        f"{row['median_us']:10.1f}{row['ratio']:7.2f}{row['ratio_attainable']:7.3f}  {row['cause'][:90]}"
    )
