"""What to do next about one workload: where it is wrong, how far it is, what binds, where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from solbench.errors import UnknownHardware, UnsupportedPrecision
from solbench.hardware import load_hardware
from solbench.judge.guard import (
    KernelTable,
    Launch,
    OperationTable,
    read_kernel_table,
    read_operation_table,
)
from solbench.judge.nsight import NsightKernel
from solbench.report._hints import hints_of
from solbench.report._tables import failure_sentence
from solbench.spec import SolBenchRecord, Trace

_LOG_CHARS = 400


@dataclass(frozen=True, slots=True)
class KernelShare:
    """One kernel of a call, launched in one way, by the worker's own profiler: advice."""

    name: str
    total_ms: float
    launches: int
    share: float
    """Of the time in kernels."""
    launch: Launch


@dataclass(frozen=True, slots=True)
class OperationShare:
    """One of PyTorch's operations in a call on a CPU, by the worker's own profiler: advice."""

    name: str
    own_ms: float
    """What it calls left out."""
    calls: int
    share: float
    """Of the call, which the profiler slows down."""
    taken_bytes: int
    """Memory taken less memory given back."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """About one workload. Numbers are ``None`` where the trace does not have them."""

    workload: str
    axes: dict[str, int]
    status: str
    wrong: str
    """Where and how it is wrong, or why it failed; empty if it passed."""
    latency_ms: float | None
    """0 where the floor of the clock covers all of it."""
    t_sol_ms: float | None
    t_attainable_ms: float | None
    times_sol: float | None
    times_attainable: float | None
    binding: str | None
    demanded_bytes: float | None
    """That any implementation must read from or write to memory."""
    dram_bytes_per_s: float | None
    """Bytes that the problem demands over the measured time: what is moved beyond them does not count."""
    dram_share: float | None
    """Of the device's peak."""
    matrix_flops_per_s: float | None
    matrix_share: float | None
    """Share of the call that the matrix units would take at their peak."""
    kernels: tuple[KernelShare, ...]
    busy_ms: float | None
    """In which any kernel ran."""
    largest_gap_ms: float | None
    gaps_ms: float | None
    """Between the first kernel's start and the last one's end, in which none ran."""
    operations: tuple[OperationShare, ...]
    outside_share: float | None
    """Of a call on a CPU: in Python, and in code that is not PyTorch's."""
    nsight: tuple[NsightKernel, ...]
    """What Nsight Compute said, launch by launch, where it was asked."""
    nsight_dram_bytes: float | None
    """Read and written by all of them."""
    findings: tuple[str, ...]
    """Of the guard, notes left out."""
    hints: tuple[str, ...]
    """What to try, most telling first."""


def feedback(trace: Trace) -> Feedback:
    """From one trace; nothing is measured."""
    record = trace.solbench
    latency_ms = record.timing.median_ms if record and record.timing else None
    rates = _rates(record, latency_ms)
    advice = (record.advice if record else None) or {}
    log = str(advice.get("log", ""))
    nsight = _nsight(advice)
    table, operations = read_kernel_table(log), read_operation_table(log)
    made = Feedback(
        workload=trace.workload.uuid,
        axes=dict(trace.workload.axes),
        status=trace.evaluation.status,
        wrong=_wrong(trace),
        latency_ms=latency_ms,
        t_sol_ms=record.t_sol_ms if record else None,
        t_attainable_ms=record.t_attainable_ms if record else None,
        times_sol=_over(latency_ms or None, record.t_sol_ms if record else None),
        times_attainable=_over(latency_ms or None, record.t_attainable_ms if record else None),
        binding=record.binding if record else None,
        demanded_bytes=_demanded_bytes(record),
        dram_bytes_per_s=rates[0],
        dram_share=rates[1],
        matrix_flops_per_s=rates[2],
        matrix_share=rates[3],
        kernels=_kernels(table),
        busy_ms=advice.get("busy_ms") if table.kernels else None,
        largest_gap_ms=table.largest_gap_ms,
        gaps_ms=table.gaps_ms,
        operations=_operations(operations),
        outside_share=_over(operations.outside_ms, operations.call_ms),
        nsight=nsight,
        nsight_dram_bytes=_moved_bytes(nsight),
        findings=_findings(record),
        hints=(),
    )
    return replace(made, hints=hints_of(made))


def _kernels(table: KernelTable) -> tuple[KernelShare, ...]:
    total_ms = sum(each.total_ms for each in table.kernels)
    return tuple(
        KernelShare(each.name, each.total_ms, each.launches, each.total_ms / total_ms, each.launch)
        for each in (table.kernels if total_ms else ())
    )


def _operations(table: OperationTable) -> tuple[OperationShare, ...]:
    return tuple(
        OperationShare(
            each.name, each.own_ms, each.calls, each.own_ms / table.call_ms, each.taken_bytes
        )
        for each in (table.operations if table.call_ms else ())
        if table.call_ms
    )


def _nsight(advice: dict[str, Any]) -> tuple[NsightKernel, ...]:
    """As ``solbench profile`` keeps it in a trace."""
    return tuple(
        NsightKernel(**{**each, "grid": tuple(each["grid"]), "block": tuple(each["block"])})
        for each in advice.get("nsight", ())
    )


def _moved_bytes(kernels: Sequence[NsightKernel]) -> float | None:
    parts = [part for each in kernels for part in (each.dram_read_bytes, each.dram_write_bytes)]
    known = [part for part in parts if part is not None]
    return sum(known) if known and len(known) == len(parts) else None


def _demanded_bytes(record: SolBenchRecord | None) -> float | None:
    bound = record.bound if record else None
    if not bound or not bound.get("complete"):
        return None
    return float(bound["dram_read_bytes"] + bound["dram_write_bytes"])


def _over(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _wrong(trace: Trace) -> str:
    if trace.evaluation.status == "PASSED":
        return ""
    failure = trace.solbench.failure if trace.solbench else None
    if failure is None or failure.get("index") is None:
        return trace.evaluation.log[:_LOG_CHARS].strip()
    return failure_sentence(failure)


def _findings(record: SolBenchRecord | None) -> tuple[str, ...]:
    found = record.findings if record else ()
    return tuple(
        f"{each.severity} {each.rule}, {each.file}:{each.line}: {each.message}"
        for each in found
        if each.severity != "note"
    )


_Rates = tuple[float | None, float | None, float | None, float | None]


def _rates(record: SolBenchRecord | None, latency_ms: float | None) -> _Rates:
    """Bytes and FLOPs a second that the demand and the time make, each with its share of the peak."""
    bound = record.bound if record else None
    if not bound or not bound.get("complete") or not latency_ms:
        return None, None, None, None
    seconds = latency_ms / 1e3
    moved = (_demanded_bytes(record) or 0.0) / seconds
    flops: dict[str, float] = bound["matrix_flops"]
    computed = sum(flops.values()) / seconds if flops else None
    if bound["hardware"] == "cpu":  # its peaks are kept in no file: only what binds tells its own
        share = _over(record.t_sol_ms if record else None, latency_ms)
        binding = record.binding if record else None
        return (
            moved,
            share if binding == "dram" else None,
            computed,
            share if binding == "matrix" and flops else None,
        )
    try:
        hardware = load_hardware(bound["hardware"])
        clock_mhz = hardware.clock_mhz(bound["clock_mhz"])
        at_peak_s = sum(
            count / hardware.flops_per_s(kind, clock_mhz) for kind, count in flops.items()
        )
    except (UnknownHardware, UnsupportedPrecision):
        return moved, None, computed, None
    share = at_peak_s / seconds if flops else None
    return moved, moved / hardware.dram_bytes_per_s, computed, share
