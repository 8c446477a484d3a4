"""What to do next about one workload: where it is wrong, how far it is, what binds, where the time goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from solbench.errors import UnknownHardware, UnsupportedPrecision
from solbench.hardware import load_hardware
from solbench.judge.guard import kernel_authorship, read_kernel_table
from solbench.report import _format as fmt
from solbench.report._tables import failure_sentence
from solbench.spec import SolBenchRecord, Trace

_NEAR = 1.15
"""Times T_attainable: closer is within what other kernels of this kind reach."""
_FAR = 10.0
"""Times T_attainable: what binds at the limit does not bind there."""
_GAPS_MATTER = 0.15
"""Share of a call in which no kernel runs, from which on it is worth a hint."""
_LIBRARY_MATTERS = 0.5
_MANY_KERNELS = 4
_LOG_CHARS = 400


@dataclass(frozen=True, slots=True)
class KernelShare:
    """One kernel of a call, by the worker's own profiler: advice."""

    name: str
    total_ms: float
    launches: int
    share: float
    """Of the time in kernels."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """About one workload. Numbers are ``None`` where the trace does not have them."""

    workload: str
    axes: dict[str, int]
    status: str
    wrong: str
    """Where and how it is wrong, or why it failed; empty if it passed."""
    latency_ms: float | None
    t_sol_ms: float | None
    t_attainable_ms: float | None
    times_sol: float | None
    times_attainable: float | None
    binding: str | None
    dram_bytes_per_s: float | None
    """Bytes that the problem demands over the measured time: what is moved beyond them does not count."""
    dram_share: float | None
    """Of the device's peak."""
    matrix_flops_per_s: float | None
    matrix_share: float | None
    """Share of the call that the matrix units would take at their peak."""
    kernels: tuple[KernelShare, ...]
    busy_ms: float | None
    """In which any kernel ran, caches as the call found them."""
    largest_gap_ms: float | None
    findings: tuple[str, ...]
    """Of the guard, notes left out."""
    hints: tuple[str, ...]
    """What to try, most telling first."""


def feedback(trace: Trace) -> Feedback:
    """From one trace; nothing is measured."""
    record = trace.solbench
    latency_ms = record.timing.median_ms if record and record.timing else None
    rates = _rates(record, latency_ms)
    table = read_kernel_table(str((record.advice or {}).get("log", ""))) if record else None
    total_ms = sum(each.total_ms for each in table.kernels) if table else 0.0
    kernels = tuple(
        KernelShare(each.name, each.total_ms, each.launches, each.total_ms / total_ms)
        for each in (table.kernels if table and total_ms else ())
    )
    made = Feedback(
        workload=trace.workload.uuid,
        axes=dict(trace.workload.axes),
        status=trace.evaluation.status,
        wrong=_wrong(trace),
        latency_ms=latency_ms,
        t_sol_ms=record.t_sol_ms if record else None,
        t_attainable_ms=record.t_attainable_ms if record else None,
        times_sol=_over(latency_ms, record.t_sol_ms if record else None),
        times_attainable=_over(latency_ms, record.t_attainable_ms if record else None),
        binding=record.binding if record else None,
        dram_bytes_per_s=rates[0],
        dram_share=rates[1],
        matrix_flops_per_s=rates[2],
        matrix_share=rates[3],
        kernels=kernels,
        busy_ms=(record.advice or {}).get("busy_ms") if record else None,
        largest_gap_ms=table.largest_gap_ms if table else None,
        findings=_findings(record),
        hints=(),
    )
    return _with_hints(made)


def _over(latency_ms: float | None, limit_ms: float | None) -> float | None:
    return latency_ms / limit_ms if latency_ms and limit_ms else None


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
    moved = (bound["dram_read_bytes"] + bound["dram_write_bytes"]) / seconds
    flops: dict[str, float] = bound["matrix_flops"]
    computed = sum(flops.values()) / seconds if flops else None
    if bound["hardware"] == "cpu":  # its peaks are not kept in a file
        return moved, None, computed, None
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


def _with_hints(made: Feedback) -> Feedback:
    return replace(made, hints=tuple(_hints(made)))


def _hints(made: Feedback) -> list[str]:
    if made.status != "PASSED":
        return ["Right first: nothing is timed before the outputs match."]
    hints = []
    if made.latency_ms and made.busy_ms is not None and len(made.kernels) > 1:
        idle = 1.0 - made.busy_ms / made.latency_ms
        if idle > _GAPS_MATTER:
            hints.append(
                f"No kernel runs for {idle:.0%} of the call: fuse kernels, or capture a graph."
            )
    launches = sum(each.launches for each in made.kernels)
    if launches >= _MANY_KERNELS:
        hints.append(
            f"{launches} kernels a call: what one writes and the next reads goes through memory."
        )
    own = kernel_authorship((each.name, each.total_ms) for each in made.kernels)
    if own.library_share > _LIBRARY_MATTERS:
        first = own.library_kernels[0]
        hints.append(
            f"{own.library_share:.0%} of kernel time is in library kernels, first {first}."
        )
    if made.times_attainable is not None and made.times_attainable <= _NEAR:
        hints.append(
            "Near what is attainable: only another algorithm or precision would gain more."
        )
    elif made.times_attainable is not None and made.times_attainable > _FAR:
        hints.append(
            "Far from any limit: look at overhead, launches and parallelism before bandwidth or FLOPs."
        )
    elif made.binding == "dram" and made.times_sol:
        hints.append(
            "Memory binds: read each input once, write each output once, with wide coalesced accesses."
        )
    elif made.binding == "matrix" and made.times_sol:
        hints.append(
            "Matrix units bind: keep them fed; look at tiles, pipelining and operand formats."
        )
    return hints


def feedback_report(traces: Sequence[Trace]) -> RenderableType:
    """A block a workload."""
    parts: list[RenderableType] = []
    for trace in traces:
        parts += [*_block(feedback(trace)), Text("")]
    return Group(*parts[:-1])


def _block(made: Feedback) -> list[RenderableType]:
    head = Text.assemble((fmt.short_uuid(made.workload), "bold"), f" {fmt.axes(made.axes)}  ")
    head.append(made.status, style="green" if made.status == "PASSED" else "bold red")
    parts: list[RenderableType] = [head]
    if made.wrong:
        parts.append(Text(f"  {made.wrong}"))
    if made.latency_ms is not None:
        parts.append(Text(f"  {_distances(made)}"))
        parts += [Text(f"  {line}") for line in _achieved(made)]
    if made.kernels:
        parts.append(_kernels(made))
    parts += [Text(f"  {line}", style="yellow") for line in made.findings]
    parts += [Text(f"  → {line}", style="cyan") for line in made.hints]
    return parts


def _distances(made: Feedback) -> str:
    words = [fmt.duration(made.latency_ms)]
    if made.times_sol is not None:
        words.append(f"{fmt.ratio(made.times_sol)} T_SOL ({fmt.duration(made.t_sol_ms)})")
    if made.times_attainable is not None:
        attainable = fmt.duration(made.t_attainable_ms)
        words.append(f"{fmt.ratio(made.times_attainable)} T_attainable ({attainable})")
    if made.binding:
        words.append(f"bound by {made.binding}")
    return ", ".join(words)


def _achieved(made: Feedback) -> list[str]:
    lines = []
    if made.dram_bytes_per_s is not None:
        share = f", {made.dram_share:.0%} of peak" if made.dram_share is not None else ""
        lines.append(f"demanded bytes at {made.dram_bytes_per_s / 1e9:.4g} GB/s{share}")
    if made.matrix_flops_per_s is not None:
        share = f", {made.matrix_share:.0%} of peak" if made.matrix_share is not None else ""
        lines.append(f"products at {made.matrix_flops_per_s / 1e9:.4g} GFLOP/s{share}")
    return lines


def _kernels(made: Feedback) -> Table:
    gap = (
        "" if made.largest_gap_ms is None else f"; largest gap {fmt.duration(made.largest_gap_ms)}"
    )
    table = Table(box=None, pad_edge=False, title=f"kernels{gap}", title_justify="left")
    for heading in ("share", "time", "×"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("kernel", overflow="fold")
    for each in made.kernels:
        table.add_row(
            f"{each.share:.0%}", fmt.duration(each.total_ms), str(each.launches), Text(each.name)
        )
    return table
