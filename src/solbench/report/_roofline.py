"""The roofline: attained matrix throughput against intensity, with the roofs of the bound's hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from solbench.report import _format as fmt
from solbench.report._figure import figure, log_units, plain, rendered
from solbench.spec import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _GRID, _ROOF, _POINT = "#010203", "#010204", "#010205", "#010206"
"""Placeholder colours, replaced by CSS variables in the SVG so that the plot follows the page's theme."""
_THEME = {_INK: "--ink", _GRID: "--line", _ROOF: "--sol", _POINT: "--own"}


@dataclass(frozen=True, slots=True)
class Point:
    """One workload: its intensity, and the throughput reached."""

    problem: str
    solution: str
    axes: str
    flops_per_byte: float
    flops_per_s: float
    bound_flops_per_s: float
    """At T_SOL: on the roof by construction."""


@dataclass(frozen=True, slots=True)
class Roofs:
    """Rates recovered from the bounds themselves: a bound that DRAM binds moved its bytes at the peak."""

    dram_bytes_per_s: float | None
    matrix_flops_per_s: float | None
    """The highest that a matrix-bound workload shows; mixed precisions lie on their own mix."""


def points(traces: Sequence[Trace]) -> list[Point]:
    """The passed workloads that do matrix work; others have no place on a roofline."""
    found = []
    for trace in traces:
        record = trace.solbench
        if trace.evaluation.status != "PASSED" or record is None or record.timing is None:
            continue
        flops, moved = _work(record.bound or {})
        if flops and moved and record.t_sol_ms:
            found.append(
                Point(
                    problem=trace.definition,
                    solution=trace.solution,
                    axes=fmt.axes(trace.workload.axes),
                    flops_per_byte=flops / moved,
                    flops_per_s=flops / (record.timing.median_ms * 1e-3),
                    bound_flops_per_s=flops / (record.t_sol_ms * 1e-3),
                )
            )
    return found


def roofs(traces: Sequence[Trace]) -> Roofs:
    """Peak rates behind these traces' bounds; ``None`` for a resource that binds nowhere."""
    dram, matrix = [], []
    for trace in traces:
        record = trace.solbench
        if record is None or not record.t_sol_ms:
            continue
        flops, moved = _work(record.bound or {})
        if record.binding == "dram":
            dram.append(moved / (record.t_sol_ms * 1e-3))
        elif record.binding == "matrix":
            matrix.append(flops / (record.t_sol_ms * 1e-3))
    return Roofs(max(dram, default=None), max(matrix, default=None))


def _work(bound: dict[str, Any]) -> tuple[int, int]:
    flops = sum((bound.get("matrix_flops") or {}).values())
    return flops, bound.get("dram_read_bytes", 0) + bound.get("dram_write_bytes", 0)


def roofline_svg(traces: Sequence[Trace]) -> str:
    """An SVG for inlining, coloured by the page's CSS variables; empty if nothing does matrix work.

    A point tells its workload and its rates when the pointer rests on it.
    """
    shown = points(traces)
    if not shown:
        return ""
    with figure(8.4, 3.8) as drawn:
        axes = drawn.subplots()
        drawn.patch.set_visible(False)
        axes.patch.set_visible(False)
        _draw_roofs(axes, roofs(traces), shown)
        _draw_points(axes, shown)
        _style(axes)
        svg = rendered(drawn, ".svg").decode("utf-8")
    return _themed(_with_tips(svg, shown))


def _draw_roofs(axes: Axes, rates: Roofs, shown: Sequence[Point]) -> None:
    low = min(point.flops_per_byte for point in shown) / 2
    high = max(point.flops_per_byte for point in shown) * 2
    if rates.dram_bytes_per_s and rates.matrix_flops_per_s:
        ridge = rates.matrix_flops_per_s / rates.dram_bytes_per_s
        low, high = min(low, ridge / 2), max(high, ridge * 2)
        xs = [low, ridge, high]
        ys = [low * rates.dram_bytes_per_s, rates.matrix_flops_per_s, rates.matrix_flops_per_s]
        axes.plot(xs, ys, color=_ROOF, linewidth=1.8)
    elif rates.dram_bytes_per_s:
        axes.plot([low, high], [x * rates.dram_bytes_per_s for x in (low, high)], color=_ROOF)
    elif rates.matrix_flops_per_s:
        axes.plot([low, high], [rates.matrix_flops_per_s] * 2, color=_ROOF, linewidth=1.8)


def _draw_points(axes: Axes, shown: Sequence[Point]) -> None:
    for number, point in enumerate(shown):
        x, y, top = point.flops_per_byte, point.flops_per_s, point.bound_flops_per_s
        axes.plot([x, x], [y, top], color=_GRID, linewidth=1.2, zorder=1)
        axes.plot([x], [y], "o", color=_POINT, markersize=6, zorder=3, gid=f"point-{number}")
        axes.plot([x], [top], "o", color=_ROOF, markersize=4, fillstyle="none", zorder=2)


def _style(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    log_units(axes.xaxis, *axes.get_xlim())
    log_units(axes.yaxis, *axes.get_ylim(), "FLOP/s")
    axes.set_xlabel("intensity (matrix FLOP per demanded byte)", color=_INK)
    axes.set_ylabel("matrix throughput", color=_INK)
    axes.grid(True, color=_GRID, linewidth=0.5)
    axes.tick_params(colors=_INK, which="both")
    plain(axes)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_INK)


def _with_tips(svg: str, shown: Sequence[Point]) -> str:
    """What browsers show when the pointer rests on a point: SVG's own ``title`` of its group."""
    for number, point in enumerate(shown):
        group = f'<g id="point-{number}">'
        reached, bound = (
            fmt.amount(rate, "FLOP/s") for rate in (point.flops_per_s, point.bound_flops_per_s)
        )
        tip = f"{point.problem} · {point.solution} · {point.axes}: {reached} of {bound}"
        svg = svg.replace(group, f"{group}<title>{escape(tip)}</title>")
    return svg


def _themed(svg: str) -> str:
    """Drop the XML prologue, make the drawing scale, and hand the colours to CSS."""
    svg = svg[svg.index("<svg") :]
    for colour, variable in _THEME.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg
