"""Feedback as text: a block a workload, made to be read in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from solbench.judge.guard import Launch
from solbench.judge.nsight import NsightKernel
from solbench.report import _format as fmt
from solbench.report._feedback import Feedback, feedback
from solbench.spec import Trace

_PAGE_COLUMNS = 108


def feedback_report(traces: Sequence[Trace]) -> RenderableType:
    """A block a workload."""
    parts: list[RenderableType] = []
    for trace in traces:
        parts += [*_block(feedback(trace)), Text("")]
    return Group(*parts[:-1])


def profile_text(trace: Trace) -> str:
    """The tables of a profile in plain text; empty where the trace has none."""
    made = feedback(trace)
    tables = _profile(made)
    if not tables:
        return ""
    written = StringIO()
    console = Console(file=written, width=_PAGE_COLUMNS, color_system=None)
    console.print(Group(*tables, *(Text(f"→ {hint}") for hint in made.hints)))
    return "\n".join(line.rstrip() for line in written.getvalue().splitlines())


def _profile(made: Feedback) -> list[RenderableType]:
    tables: list[RenderableType] = []
    if made.kernels:
        tables.append(_kernels(made))
    if made.operations:
        tables.append(_operations(made))
    if made.nsight:
        tables.append(_nsight(made.nsight))
    return tables


def _block(made: Feedback) -> list[RenderableType]:
    head = Text.assemble((fmt.short_uuid(made.workload), "bold"), f" {fmt.axes(made.axes)}  ")
    head.append(made.status, style="green" if made.status == "PASSED" else "bold red")
    parts: list[RenderableType] = [head]
    if made.wrong:
        parts.append(Text(f"  {made.wrong}"))
    if made.latency_ms is not None:
        parts.append(Text(f"  {_distances(made)}"))
        parts += [Text(f"  {line}") for line in _achieved(made)]
    parts += _profile(made)
    parts += [Text(f"  {line}", style="yellow") for line in made.findings]
    parts += [Text(f"  → {line}", style="cyan") for line in made.hints]
    return parts


def _distances(made: Feedback) -> str:
    words = [fmt.duration(made.latency_ms) if made.latency_ms else "below the clock's floor"]
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
        share = f", {fmt.share(made.dram_share)} of peak" if made.dram_share is not None else ""
        lines.append(f"demanded bytes at {made.dram_bytes_per_s / 1e9:.4g} GB/s{share}")
    if made.matrix_flops_per_s is not None:
        share = f", {fmt.share(made.matrix_share)} of peak" if made.matrix_share is not None else ""
        lines.append(f"products at {made.matrix_flops_per_s / 1e9:.4g} GFLOP/s{share}")
    return lines


def _kernels(made: Feedback) -> Table:
    table = _table(f"kernels{_gaps(made)}", ("share", "time", "×", "grid", "block", "regs", "smem"))
    table.add_column("kernel", overflow="fold")
    for each in made.kernels:
        table.add_row(
            f"{each.share:.0%}",
            fmt.duration(each.total_ms),
            str(each.launches),
            *_launch(each.launch),
            Text(each.name),
        )
    return table


def _gaps(made: Feedback) -> str:
    if made.largest_gap_ms is None or sum(each.launches for each in made.kernels) < 2:
        return ""
    in_all = "" if made.gaps_ms is None else f", in all {fmt.duration(made.gaps_ms)}"
    return f"; largest gap {fmt.duration(made.largest_gap_ms)}{in_all}"


def _launch(launch: Launch) -> tuple[str, str, str, str]:
    shared = "" if launch.shared_bytes is None else fmt.size(launch.shared_bytes)
    return (_sizes(launch.grid), _sizes(launch.block), _number(launch.registers), shared)


def _sizes(sizes: Sequence[int]) -> str:
    """Trailing ones left out."""
    kept = [str(each) for each in sizes]
    while len(kept) > 1 and kept[-1] == "1":
        kept.pop()
    return "×".join(kept)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _operations(made: Feedback) -> Table:
    outside = "" if made.outside_share is None else f"; {made.outside_share:.0%} outside them"
    table = _table(f"PyTorch's operations{outside}", ("share", "time", "×", "memory"))
    table.add_column("operation", overflow="fold")
    for each in made.operations:
        memory = fmt.size(each.taken_bytes) if each.taken_bytes > 0 else ""
        table.add_row(
            f"{each.share:.0%}", fmt.duration(each.own_ms), str(each.calls), memory, Text(each.name)
        )
    return table


def _nsight(kernels: Sequence[NsightKernel]) -> Table:
    headings = ("time", "DRAM", "of peak", "SM", "occup.", "regs", "waits for")
    table = _table("Nsight Compute, caches flushed before each kernel", headings)
    table.add_column("kernel", overflow="fold")
    for each in kernels:
        table.add_row(
            fmt.duration(each.duration_ms),
            _moved(each),
            _share(each.dram_share),
            _share(each.sm_share),
            _share(each.occupancy),
            _number(each.registers),
            each.stall.replace("_", " "),
            Text(each.name),
        )
    return table


def _moved(each: NsightKernel) -> str:
    if each.dram_read_bytes is None or each.dram_write_bytes is None:
        return ""
    return fmt.size(each.dram_read_bytes + each.dram_write_bytes)


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=heading != "waits for")
    return table
