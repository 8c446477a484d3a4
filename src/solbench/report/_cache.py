"""Traffic against capacity, as a table and as a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._figure import (
    ESTIMATE,
    GRID,
    POINT,
    SCORED,
    below,
    figure,
    log_bytes,
    plain,
    rendered,
)
from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.bound import CacheReport

_MOST_PIECES = 20
_MOST_POINTS = 12


def cache_tables(report: CacheReport) -> Group:
    """The device's levels, each contraction at both, and the curve of all of them."""
    parts: list[RenderableType] = [_levels(report), _pieces(report), _curve(report)]
    if all(level.traffic_bytes <= report.least_bytes * 1.001 for level in report.levels):
        verdict = "both levels hold enough: each operand crosses once, and capacity binds nowhere"
        parts.append(Text(verdict, style="dim"))
    return Group(*parts)


def _table(first: str, *numbers: str) -> Table:
    return grid(first, *numbers, numbers=numbers)


def _levels(report: CacheReport) -> Table:
    table = _table("level (held in)", "capacity", "traffic", "× least", "at least")
    for level in report.levels:
        table.add_row(
            Text.assemble(level.name, (f" ({level.holds})", "dim")),
            fmt.size(level.capacity_bytes),
            fmt.size(level.traffic_bytes),
            fmt.ratio(level.traffic_bytes / report.least_bytes),
            fmt.ABSENT if level.floor_bytes is None else fmt.size(level.floor_bytes),
        )
    return table


def _pieces(report: CacheReport) -> RenderableType:
    table = _table("contraction, or pair sharing a chip", "least", "dram", "l2")
    shown = sorted(report.pieces, key=lambda piece: -piece.least_bytes)[:_MOST_PIECES]
    for piece in shown:
        count = f"{piece.times} × " if piece.times > 1 else ""
        moved = (fmt.size(each) for each in piece.traffic_bytes)
        table.add_row(Text(f"{count}{piece.name}"), fmt.size(piece.least_bytes), *moved)
    if len(shown) == len(report.pieces):
        return table
    rest = Text(f"the {len(shown)} largest of {len(report.pieces)}", style="dim")
    return Group(table, rest)


def _curve(report: CacheReport) -> Table:
    table = _table("capacity", "traffic", "× least")
    points = list(zip(report.capacities_bytes, report.traffic_bytes, strict=True))
    count = min(len(points), _MOST_POINTS)
    chosen = {round(i * (len(points) - 1) / max(1, count - 1)) for i in range(count)}
    for index in sorted(chosen):
        capacity, traffic = points[index]
        table.add_row(
            fmt.size(capacity), fmt.size(traffic), fmt.ratio(traffic / report.least_bytes)
        )
    return table


def cache_plot(report: CacheReport, title: str, suffix: str) -> bytes:
    """Contents of a ``.svg`` or ``.png`` file. Raises ``MissingExtra`` without matplotlib."""
    with figure(6.4, 3.8) as drawn:
        axes = drawn.subplots()
        capacities = list(report.capacities_bytes)
        far = max(capacities[-1], *(level.capacity_bytes for level in report.levels)) * 2
        axes.step(
            [*capacities, far], [*report.traffic_bytes, report.least_bytes], where="post",
            color=SCORED, label="best tiling found",
        )  # fmt: skip
        axes.axhline(report.least_bytes, color=ESTIMATE, linewidth=0.8, label="each operand once")
        for number, level in enumerate(report.levels):
            axes.axvline(level.capacity_bytes, color=POINT, linewidth=0.9, linestyle="--")
            label, height = f"{level.name}: {fmt.size(level.capacity_bytes)}", 0.97 - 0.1 * number
            axes.annotate(
                label, (level.capacity_bytes, height), xycoords=("data", "axes fraction"),
                xytext=(-4, 0), textcoords="offset points", ha="right", va="top",
                fontsize=8, color=POINT, bbox={"color": "white", "pad": 1.5},
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        log_bytes(axes.xaxis)
        log_bytes(axes.yaxis)
        axes.set_xlabel("capacity of the level")
        axes.set_ylabel("traffic of contractions")
        axes.grid(True, linewidth=0.4, color=GRID)
        below(drawn, 2)
        plain(axes)
        drawn.suptitle(title, fontsize=10)
        return rendered(drawn, suffix)
