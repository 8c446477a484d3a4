"""T_attainable: what a good kernel can be expected to reach, term by term. An estimate, never scored.

    T_attainable = max(T_SOL, launch + dependency + max(all DRAM terms together, l2, shared, vector, special,
                                                        matrix work at measured rates))

Kernels on the critical path begin one after the other; within them the units of a device work side by side. The
terms of DRAM use one resource, so they add.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from solbench.bound._cache_terms import Piece, pieces
from solbench.bound._result import Demand, Term
from solbench.hardware import Hardware

BANDWIDTH_SHARES = ((0.0, 0.98), (1 / 2, 0.892), (2 / 3, 0.935), (1.0, 0.966))
"""(Share of reads among the bytes, share of peak DRAM bandwidth that kernels reach), measured on an H200 with
0.4 to 2 GB: a fill 4.71 TB/s, a copy 4.28, an addition 4.49, attention of one query to 32768 keys 4.64, of 4.8.
Memory that turns from reading to writing pauses, most often when it does as much of one as of the other."""

SUM_BITS = 32
"""Sums are kept in fp32 in registers, whatever the operands."""

_FIXED = ("launch", "dependency")


@dataclass(frozen=True, slots=True)
class Estimate:
    """The terms beside those of T_SOL, and the time that they give."""

    terms: tuple[Term, ...]
    time_ms: float


def estimate(
    demand: Demand, hardware: Hardware, clock_mhz: float, matrix_ms: float, t_sol_ms: float
) -> Estimate:
    """T_attainable from a demand; ``matrix_ms`` is the matrix work at peak rates, as in T_SOL."""
    parts = pieces(demand)
    terms = (
        *_dram(demand, parts, hardware),
        *_on_chip(demand, parts, hardware, clock_mhz),
        *_ordinary(demand, hardware, clock_mhz),
        *_measured_products(demand, hardware),
        *_launches(demand, hardware),
    )
    return Estimate(terms, _time_ms(terms, matrix_ms, t_sol_ms))


def _time_ms(terms: Sequence[Term], matrix_ms: float, t_sol_ms: float) -> float:
    fixed = sum(t.time_ms for t in terms if t.resource in _FIXED)
    dram = sum(t.time_ms for t in terms if t.resource.startswith("dram."))
    others = [
        t.time_ms for t in terms if t.resource not in _FIXED and not t.resource.startswith("dram.")
    ]
    return max(t_sol_ms, fixed + max([dram, matrix_ms, *others]))


def _term(resource: str, amount: float, unit: str, rate_per_s: float, detail: str) -> Term:
    time_ms = amount / rate_per_s * 1e3
    return Term(resource, amount, unit, rate_per_s, time_ms, "t_attainable", detail)


def _size(byte_count: float) -> str:
    """Three digits and a binary unit, for the text of a term."""
    for scale, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if byte_count >= scale:
            return f"{byte_count / scale:.3g} {unit}"
    return f"{byte_count:.0f} B"


# ---- memory ----


def _dram(demand: Demand, parts: Sequence[Piece], hardware: Hardware) -> Iterator[Term]:
    moved = demand.dram_read_bytes + demand.dram_write_bytes
    reads = demand.dram_read_bytes / moved if moved else 1.0
    rate, source = _achieved_bandwidth(hardware, reads)
    yield _term("dram.achieved", moved, "B", rate, f"demanded bytes at {source}")
    spilled = max(0, demand.intermediate_bytes - hardware.l2_bytes)
    if spilled:
        detail = (
            f"{_size(demand.intermediate_bytes)} of results between products, written and read back, "
            f"less the L2 of {_size(hardware.l2_bytes)}"
        )
        rate, _ = _achieved_bandwidth(hardware, 1 / 2)
        yield _term("dram.intermediates", spilled, "B", rate, detail)
    capacity = hardware.l2_bytes + hardware.on_chip_bytes
    again = sum(p.bytes_at(capacity) - p.least_bytes for p in parts)
    if again > 0:
        detail = (
            f"read or written again: the best tiling found for {_size(capacity)} on chip, "
            "beyond each operand once"
        )
        rate, _ = _achieved_bandwidth(hardware, 1.0)
        yield _term("dram.reuse", again, "B", rate, detail)


def _achieved_bandwidth(hardware: Hardware, reads: float) -> tuple[float, str]:
    """Bytes a second with this share of reads, and where the number comes from."""
    if hardware.calibrated:
        return hardware.dram_bytes_per_s, "the measured bandwidth"
    if hardware.measured is not None:
        rate = min(hardware.measured.dram_bytes_per_s, hardware.dram_bytes_per_s)
        return rate, f"the bandwidth measured {hardware.measured.date[:10]}"
    share = _bandwidth_share(reads)
    source = f"{share:.0%} of peak, which kernels reach whose bytes are {reads:.0%} reads"
    return hardware.dram_bytes_per_s * share, source


def _bandwidth_share(reads: float) -> float:
    """Between the mixes that were measured, on a straight line."""
    for (low, first), (high, second) in pairwise(BANDWIDTH_SHARES):
        if reads <= high:
            return first + (second - first) * (reads - low) / (high - low)
    return BANDWIDTH_SHARES[-1][1]


def _on_chip(
    demand: Demand, parts: Sequence[Piece], hardware: Hardware, clock_mhz: float
) -> Iterator[Term]:
    capacity = hardware.on_chip_bytes
    again = sum(p.bytes_at(capacity) - p.least_bytes for p in parts)
    moved = demand.dram_read_bytes + demand.dram_write_bytes + demand.intermediate_bytes
    rate = hardware.l2_bytes_per_s
    if hardware.measured is not None:
        rate = max(hardware.measured.l2_bytes_per_s, hardware.dram_bytes_per_s)
    detail = (
        f"demanded and intermediate bytes, and {_size(again) if again else 'none'} again: the best tiling "
        f"found for {_size(capacity)} of shared memory and registers"
    )
    yield _term("l2", moved + again, "B", rate, detail)
    if not hardware.shared_bytes_per_sm_per_clk or not parts:
        return
    own = hardware.register_bytes_per_sm + hardware.tensor_memory_bytes_per_sm
    fed = sum(p.bytes_at(own, max(SUM_BITS, p.bits)) for p in parts)
    scale = hardware.sm_count * clock_mhz * 1e6
    detail = f"operands of products, tiled for the {_size(own)} of registers of one SM in fp32"
    yield _term("shared", fed, "B", hardware.shared_bytes_per_sm_per_clk * scale, detail)


# ---- work ----


def _ordinary(demand: Demand, hardware: Hardware, clock_mhz: float) -> Iterator[Term]:
    scale = hardware.sm_count * clock_mhz * 1e6
    lanes = hardware.simt_flops_per_sm_per_clk.get("fp32", 0.0) / 2
    if lanes and demand.vector_ops:
        detail = f"pointwise, reducing and normalising work on {lanes:.4g} lanes an SM"
        yield _term("vector", demand.vector_ops, "op", lanes * scale, detail)
    units = hardware.special_ops_per_sm_per_clk
    if units and demand.special_ops:
        detail = f"exponentials, roots and reciprocals on {units:.4g} special-function lanes an SM"
        yield _term("special", demand.special_ops, "op", units * scale, detail)


def _measured_products(demand: Demand, hardware: Hardware) -> Iterator[Term]:
    """Matrix work at the rates that torch's own products reached on such a device."""
    measured = hardware.measured
    if measured is None:
        return
    rates = measured.matmul_flops_per_s
    flops_by_kind = demand.admitted_flops or demand.matrix_flops
    counted = {k: v for k, v in flops_by_kind.items() if rates.get(k)}
    seconds = sum(flops / rates[name] for name, flops in counted.items())
    if seconds:
        total = sum(counted.values())
        detail = f"{', '.join(counted)} at rates measured {measured.date[:10]}"
        yield _term("products.achieved", total, "FLOP", total / seconds, detail)


def _launches(demand: Demand, hardware: Hardware) -> Iterator[Term]:
    if not hardware.launch_floor_us:
        return
    rate = 1e6 / hardware.launch_floor_us
    yield _term("launch", 1, "launch", rate, "no kernel is shorter")
    further = demand.launches - 1
    if further > 0:
        detail = f"{demand.launches} kernels that wait for each other on the longest path"
        yield _term("dependency", further, "launch", rate, detail)
