"""Demand → times on a device. The formulas of T_SOL, T_floor and T_attainable are here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from solbench.bound._cache_terms import traffic_floor
from solbench.bound._estimate import estimate
from solbench.bound._precision_formats import KINDS
from solbench.bound._result import Binding, Demand, Term
from solbench.errors import UnsupportedPrecision
from solbench.hardware import Hardware

WIDER = {
    "bit": ("nvfp4", "fp8", "int8", "bf16"),
    "sign": ("nvfp4", "fp8", "int8", "bf16"),
    "nvfp4": ("nvfp4", "fp8", "int8", "bf16", "fp16"),
    "fp8": ("fp8", "bf16", "fp16"),
    "int8": ("int8", "bf16", "fp16"),
    "bf16": ("bf16", "tf32"),
    "fp16": ("fp16", "tf32"),
    "tf32": ("tf32", "fp32"),
    "fp32": ("fp32",),
    "fp64": ("fp64",),
}
"""Class → classes that hold its values exactly and may be used instead."""

TF32_PASSES = 3
"""fp32 accuracy from tf32: a = a1 + a2 with 11 + 11 significant bits; a1·b1 + a1·b2 + a2·b1 leaves an error of
2^-22, within the rounding of an fp32 sum. Two passes leave 2^-11."""
BF16_PASSES = 6
"""From bf16: three parts of 8 bits; the six products of order above 2^-24 are needed (nine are exact)."""

MIXED_PASSES = {"tf32": 2, "fp16": 2, "bf16": 3}
"""fp32 times an operand that the class holds: only the fp32 operand is split, in two or three parts."""

FP16_PASSES = 3
"""From fp16, with a scale a row for its range: two parts of 11 bits, as for tf32. The error is relative to the
largest element of the row, as that of an fp32 sum is."""
FP64_PASSES = {"bf16": 28, "int8": 14}
"""fp64 from bf16: seven parts of 8 bits hold 53 bits; 7·8/2 products of order above 2^-53. From int8: the exact
product of two integers of 53 bits has 106 bits and is found from its residues by 14 moduli of 8 bits."""


@dataclass(frozen=True, slots=True)
class Priced:
    """The times of one demand on one device."""

    t_sol_ms: float
    t_floor_ms: float
    t_attainable_ms: float
    binding: Binding
    terms: tuple[Term, ...]
    assumptions: tuple[str, ...]


def price(demand: Demand, hardware: Hardware, clock_mhz: float) -> Priced:
    """T_SOL = max(DRAM bytes / bandwidth, matrix work / matrix rates).

    Raises ``UnsupportedPrecision`` where the device has no unit that holds a class.
    """
    reads, writes = demand.dram_read_bytes, demand.dram_write_bytes
    dram = _dram_term(demand, hardware)
    matrix, notes = _matrix_terms(_kinds(demand), hardware, clock_mhz)
    matrix_ms = sum(t.time_ms for t in matrix)
    t_sol = max(dram.time_ms, matrix_ms)
    beyond_cache = max(0, writes - hardware.l2_bytes)
    floor = max((reads + beyond_cache) / hardware.dram_bytes_per_s * 1e3, matrix_ms)
    guess = estimate(demand, hardware, clock_mhz, matrix_ms, t_sol)
    if hardware.calibrated:
        notes = (*notes, "calibrated peaks: an estimate, no strict bound")
    binding: Binding = "matrix" if matrix_ms > dram.time_ms else "dram"
    terms = (dram, *matrix, *guess.terms)
    return Priced(t_sol, floor, guess.time_ms, binding, terms, notes)


def matrix_binds(demand: Demand, priced: Priced, hardware: Hardware) -> bool:
    """Whether less matrix work could lower T_SOL or T_floor."""
    matrix_ms = sum(t.time_ms for t in priced.terms if t.resource.startswith("matrix."))
    beyond_cache = max(0, demand.dram_write_bytes - hardware.l2_bytes)
    moved = demand.dram_read_bytes + beyond_cache
    return matrix_ms > moved / hardware.dram_bytes_per_s * 1e3


def _dram_term(demand: Demand, hardware: Hardware) -> Term:
    """Demanded bytes, or the bytes of a product too large for the chip if its bound is higher."""
    moved = demand.dram_read_bytes + demand.dram_write_bytes
    floor = traffic_floor(demand, hardware.l2_bytes + hardware.on_chip_bytes)
    if floor is None or floor.bytes <= moved:
        return _term("dram", moved, "B", hardware.dram_bytes_per_s, "t_sol")
    detail = (
        f"{floor.node}: {floor.macs:.4g} multiply-adds with {floor.capacity_elements:.4g} elements on chip "
        f"cannot move less; each demanded byte once would be {moved:.4g} B"
    )
    term = _term("dram", floor.bytes, "B", hardware.dram_bytes_per_s, "t_sol")
    return replace(term, detail=detail)


def _term(resource: str, amount: float, unit: str, rate: float, enters: str) -> Term:
    time = amount / rate * 1e3
    return Term(
        resource, amount, unit, rate, time, "t_sol" if enters == "t_sol" else "t_attainable"
    )


# ---- matrix work ----


def _matrix_terms(
    flops: dict[str, int], hardware: Hardware, clock_mhz: float
) -> tuple[tuple[Term, ...], tuple[str, ...]]:
    """One term a class. Their times add: each class runs on all units that can take it, together.

    Tensor cores and ordinary cores run side by side, so a class that both can do has the sum of their
    rates. Adding the times of classes then is the best split as long as no unit would idle: to stay a
    lower bound, classes that share no unit overlap (see ``_overlapped``).
    """
    notes: list[str] = []
    routes = {name: _routes(name, hardware, clock_mhz, notes) for name in flops}
    times = _overlapped(flops, routes)
    terms = []
    for name, amount in flops.items():
        time = times[name]
        rate = amount / time if time else sum(routes[name].values())
        terms.append(Term(f"matrix.{name}", amount, "FLOP", rate, time * 1e3, "t_sol"))
    return tuple(terms), tuple(notes)


def _kinds(demand: Demand) -> dict[str, int]:
    """FLOPs by class, with fp32 products that have one narrower operand as kinds of their own."""
    if demand.admitted_flops:
        return dict(demand.admitted_flops)
    kinds = dict(demand.matrix_flops)
    for narrow, flops in demand.mixed_flops.items():
        kinds["fp32"] -= flops
        kinds[f"fp32*{narrow}"] = flops
    return {k: v for k, v in kinds.items() if v > 0}


def _tensor_rate(name: str, tensor: Mapping[str, float]) -> tuple[float, str]:
    """FLOP per SM and clock of the fastest matrix route for this class, and the route in words."""
    routes = {c: tensor.get(c, 0.0) for c in WIDER.get(name, ())}
    if name == "fp32":
        routes[f"{TF32_PASSES} passes of tf32"] = tensor.get("tf32", 0.0) / TF32_PASSES
        routes[f"{FP16_PASSES} passes of fp16"] = tensor.get("fp16", 0.0) / FP16_PASSES
        routes[f"{BF16_PASSES} passes of bf16"] = tensor.get("bf16", 0.0) / BF16_PASSES
    if name.startswith("fp32*"):
        narrow = name.removeprefix("fp32*")
        for part, passes in MIXED_PASSES.items():
            if part in (narrow, "tf32", "fp16"):
                routes[f"{passes} passes of {part}"] = tensor.get(part, 0.0) / passes
        routes["fp32"] = tensor.get("fp32", 0.0)
    if name in KINDS and KINDS[name].passes > 1:
        part, passes = KINDS[name].part, KINDS[name].passes
        routes[f"{passes} passes of {part}"] = tensor.get(part, 0.0) / passes
    if name == "fp64":
        for part, passes in FP64_PASSES.items():
            routes[f"{passes} passes of {part}"] = tensor.get(part, 0.0) / passes
    best = max(routes, key=lambda r: routes[r], default="")
    return (routes[best], best) if best else (0.0, "")


def _routes(name: str, hardware: Hardware, clock_mhz: float, notes: list[str]) -> dict[str, float]:
    """FLOP/s for this class on each unit that can do it."""
    scale = hardware.sm_count * clock_mhz * 1e6
    tensor = hardware.matrix_flops_per_sm_per_clk
    simt = hardware.simt_flops_per_sm_per_clk
    routes: dict[str, float] = {}
    rate, used = _tensor_rate(name, tensor)
    if rate:
        routes["tensor"] = rate * scale
    if rate and used != name:
        notes.append(f"{name} products on the matrix cores of {hardware.name}: {used}")
    ordinary = simt.get(name, 0.0)
    if name != "fp64":
        ordinary = max(ordinary, simt.get("fp32", 0.0))
    if ordinary:
        routes["simt"] = ordinary * scale
    if not routes:
        raise UnsupportedPrecision(
            f"{hardware.name} has no unit for {name} products",
            remedy=f"It has: {', '.join(sorted({*tensor, *simt}))}.",
        )
    return routes


def faster_kinds(declared: str, hardware: Hardware) -> dict[str, float]:
    """Kinds of product that the device does faster than a declared class and how many times, the fastest first.

    Only formats that the device has: a chip without fp8 is not priced at it.
    """
    own = _whole_rate(declared, hardware)
    rates = {
        name: _whole_rate(name, hardware)
        for name, kind in KINDS.items()
        if hardware.matrix_flops_per_sm_per_clk.get(kind.part) or name == "fp32"
    }
    if not own:
        return {}  # ``price`` has said that the device cannot do it at all
    order = sorted(rates, key=lambda name: -rates[name])
    return {name: rates[name] / own for name in order if rates[name] > own * (1 + 1e-9)}


def _whole_rate(name: str, hardware: Hardware) -> float:
    try:
        return sum(_routes(name, hardware, 1.0, []).values())
    except UnsupportedPrecision:
        return 0.0


def _overlapped(flops: dict[str, int], routes: dict[str, dict[str, float]]) -> dict[str, float]:
    """Seconds attributed to each class by the best fractional split over tensor and ordinary cores.

    A linear program with two machines: classes go to the ordinary cores in the order of how well they do
    there compared with the tensor cores, until both finish together (one class may be divided).
    """
    order = sorted(flops, key=lambda c: -_preference(routes[c]))
    total = _makespan(flops, routes, order)
    alone = {c: flops[c] / max(routes[c].values()) for c in flops}
    whole = sum(alone.values())
    return {c: total * alone[c] / whole if whole else 0.0 for c in flops}


def _preference(routes: dict[str, float]) -> float:
    """Ordinary rate over tensor rate; infinite where there is no tensor route."""
    tensor = routes.get("tensor", 0.0)
    return routes.get("simt", 0.0) / tensor if tensor else float("inf")


def _makespan(
    flops: dict[str, int], routes: dict[str, dict[str, float]], order: list[str]
) -> float:
    tensor = sum(flops[c] / routes[c]["tensor"] for c in order if "tensor" in routes[c])
    simt = 0.0
    for name in order:
        own, amount = routes[name], flops[name]
        if "tensor" not in own:
            simt += amount / own["simt"]
            continue
        if "simt" not in own or simt >= tensor:
            continue
        moved = min(amount, (tensor - simt) / (1 / own["tensor"] + 1 / own["simt"]))
        tensor -= moved / own["tensor"]
        simt += moved / own["simt"]
    return max(tensor, simt)
