"""Rich renderables that give a bound's reasons: terms, operations, traffic, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._admission import admission_report
from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.bound import Bound, Demand, NodeCost, PlainCount, Removed, Term, Traffic

_MOST_ROWS = 40
"""Of operations shown: an unrolled loop has thousands, and the largest ones explain the bound."""
_LINE_CHARS, _OP_CHARS = 18, 12
"""Of a line of the reference beside an operation's name; a longer name takes its room from the line."""
_LEAST_LINE_CHARS = 10
_WHAT_CHARS = 40
_ENTERS = {"t_sol": "T_SOL", "t_attainable": "T_attainable"}


def explain_report(bound: Bound, *, why_not: bool = False) -> Group:
    """Everything behind one bound; with ``why_not`` also what a naive count would have included."""
    if bound.error is not None:
        return Group(_title(bound), Text(f"no bound: {bound.error}", style="red"))
    parts: list[RenderableType] = [_title(bound), _times(bound)]
    if bound.unknown_ops:
        parts.append(Text(f"incomplete: no rule for {', '.join(bound.unknown_ops)}", "red"))
    if bound.terms:
        parts.append(term_table(bound.terms))
        parts += [Text(f"{t.resource}: {t.detail}", style="dim") for t in bound.terms if t.detail]
    if bound.demand is not None:
        parts += _demand(bound.demand, why_not)
    if bound.admission is not None:
        parts.append(admission_report(bound.admission))
    parts += [Text(f"assumes: {text}", style="dim") for text in bound.assumptions]
    return Group(*parts)


def _title(bound: Bound) -> Text:
    clock = f" at {bound.clock_mhz:.0f} MHz" if bound.clock_mhz else ""
    return Text.assemble(
        (bound.problem, "bold"), f" {bound.workload} on ", (bound.hardware, "bold"), clock
    )


def _times(bound: Bound) -> Table:
    from solbench.bound import confidence  # brings torch, which other reports do without

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(justify="right", style="bold", no_wrap=True)
    table.add_column()
    binds = f"{bound.binding} binds" if bound.binding else "incomplete, never scored"
    table.add_row("T_SOL", fmt.duration(bound.t_sol_ms), f"no correct kernel is faster; {binds}")
    largest = attainable_binding(bound)
    why = f"estimate, never scored; largest: {largest}" if largest else "estimate, never scored"
    table.add_row("T_attainable", fmt.duration(bound.t_attainable_ms), why)
    floor = "if the cache absorbed every write that fits it"
    table.add_row("T_floor", fmt.duration(bound.t_floor_ms), floor)
    verified = "graph verified in float64" if bound.verified else "graph not verified (--verify)"
    table.add_row("captured", "", f"{bound.capture} rung, {verified}; precision {bound.precision}")
    sure = confidence(bound)
    table.add_row("confidence", "", "; ".join((sure.level, *sure.reasons)))
    return table


def attainable_binding(bound: Bound) -> str:
    """The largest part of T_attainable: all launches, all DRAM traffic, or one unit of the chip."""
    times: dict[str, float] = {}
    for term in bound.terms:
        if term.resource != "dram":  # of T_SOL; its counterpart at the achieved rate counts
            name = term.resource.split(".")[0].replace("dependency", "launch")
            times[name] = times.get(name, 0.0) + term.time_ms
    return max(times, key=lambda name: times[name], default="")


def term_table(terms: Sequence[Term]) -> Table:
    """Work divided by rate is time, for each resource."""
    figures = ("work", "÷ rate", "= time")
    table = grid("term", "enters", *figures, numbers=figures)
    for term in terms:
        table.add_row(
            Text(term.resource),
            _ENTERS[term.enters],
            fmt.amount(term.amount, term.unit),
            fmt.amount(term.rate_per_s, f"{term.unit}/s"),
            Text(fmt.duration(term.time_ms), style="bold"),
        )
    return table


def _demand(demand: Demand, why_not: bool) -> Iterable[RenderableType]:
    yield node_table(demand.nodes)
    yield traffic_table(demand.traffic)
    if why_not and not demand.removed:
        yield Text("nothing was left out", style="dim")
    elif why_not:
        yield removed_table(demand.removed)
    elif demand.removed:
        yield Text(f"{len(demand.removed)} things left out; --why-not lists them", style="dim")


def node_table(nodes: Sequence[NodeCost]) -> RenderableType:
    """The operations by their work, largest first where there are too many to show."""
    shown = list(nodes)
    if len(shown) > _MOST_ROWS:
        shown = sorted(shown, key=lambda n: (n.matrix_flops, n.vector_ops), reverse=True)
        shown = shown[:_MOST_ROWS]
    figures = ("matrix FLOP", "vector", "bytes")
    table = grid("operation", "einsum", *figures, "line", numbers=figures)
    longest = max((len(_op_name(node)) for node in shown), default=0)
    room = max(_LEAST_LINE_CHARS, _LINE_CHARS - max(0, longest - _OP_CHARS))
    table.columns[0].no_wrap = room > _LEAST_LINE_CHARS
    table.columns[-1].no_wrap = True
    for node in shown:
        work = f"{fmt.amount(node.matrix_flops, '')} {node.precision}".rstrip()
        table.add_row(
            Text(_op_name(node)),
            Text(node.einsum),
            work if node.matrix_flops else fmt.ABSENT,
            fmt.amount(node.vector_ops, "") if node.vector_ops else fmt.ABSENT,
            _bytes(node),
            Text(_cut(node.location.removeprefix("line "), room), style="dim"),
        )
    if len(shown) == len(nodes):
        return table
    return Group(table, Text(f"the {len(shown)} largest of {len(nodes)} operations", style="dim"))


def _op_name(node: NodeCost) -> str:
    return node.op.removeprefix("aten.").removesuffix(".default")


def _bytes(node: NodeCost) -> str:
    """Of inputs and outputs; on a second line what is not needed of those inputs."""
    moved = node.bytes_read + node.bytes_written
    shown = fmt.size(moved) if moved else fmt.ABSENT
    return f"{shown}\n−{fmt.size(node.bytes_dropped)}" if node.bytes_dropped else shown


def _cut(text: str, most: int) -> str:
    """The beginning: of a line of the reference, its number and enough to find it."""
    return text if len(text) <= most else text[: most - 1] + "…"


def traffic_table(traffic: Sequence[Traffic]) -> Table:
    """Bytes that must cross the memory interface, and why fewer than declared."""
    table = grid("tensor", "", "bytes", "of", "reason", numbers=("bytes", "of"))
    for each in traffic:
        table.add_row(
            Text(each.tensor),
            each.direction,
            fmt.size(each.bytes),
            fmt.size(each.declared_bytes),
            Text(each.reason, style="dim"),
        )
    return table


def plain_count_table(bound: Bound, plain: PlainCount) -> Table:
    """The plain published count beside the demanded work."""
    counts = ("all work, all tensors once", "demanded")
    table = grid("", *counts, numbers=counts)
    flops = sum(bound.matrix_flops.values())
    moved = bound.dram_read_bytes + bound.dram_write_bytes
    table.add_row("matrix", fmt.amount(plain.matrix_flops, "FLOP"), fmt.amount(flops, "FLOP"))
    table.add_row("DRAM", fmt.size(plain.dram_bytes), fmt.size(moved))
    table.add_row("time", fmt.duration(plain.time_ms(bound)), fmt.duration(bound.t_sol_ms))
    return table


def removed_table(removed: Sequence[Removed]) -> Table:
    """What a naive count would include, and why this bound does not."""
    table = grid("left out", "matrix", "bytes", "why", numbers=("matrix", "bytes"))
    for each in removed:
        table.add_row(
            Text(_cut(each.what, _WHAT_CHARS)),
            fmt.amount(each.matrix_flops, "FLOP") if each.matrix_flops else fmt.ABSENT,
            fmt.size(each.dram_bytes) if each.dram_bytes else fmt.ABSENT,
            Text(each.reason),
        )
    return table
