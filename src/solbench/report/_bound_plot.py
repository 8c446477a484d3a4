"""A picture of one bound: the time of each term, and its place under the roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solbench.errors import InputError
from solbench.report import _format as fmt
from solbench.report._figure import (
    ESTIMATE,
    GRID,
    POINT,
    SCORED,
    below,
    figure,
    log_units,
    plain,
    rendered,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from solbench.bound import Bound, Term


def bound_svg(bound: Bound) -> str:
    """A standalone SVG. Raises ``InputError`` for an incomplete bound, ``MissingExtra`` without matplotlib."""
    return bound_plot(bound, ".svg").decode("utf-8")


def bound_plot(bound: Bound, suffix: str) -> bytes:
    """The same as the contents of a ``.svg`` or ``.png`` file."""
    if bound.t_sol_ms is None:
        raise InputError("an incomplete bound cannot be drawn", key=bound.problem)
    has_roofline = _matrix_s(bound) > 0 and _dram(bound).amount > 0
    with figure(9.0 if has_roofline else 5.4, 3.8) as drawn:
        panels = drawn.subplots(1, 2 if has_roofline else 1, squeeze=False)[0]
        _draw_terms(panels[0], bound)
        if has_roofline:
            _draw_roofline(panels[1], bound)
        drawn.suptitle(_title(bound), fontsize=10)
        below(drawn, 5 if has_roofline else 2, handles=_legend(has_roofline))
        return rendered(drawn, suffix)


def _title(bound: Bound) -> str:
    workload = f" {fmt.short_uuid(bound.workload)}" if bound.workload else ""
    clock = f" at {bound.clock_mhz:.0f} MHz" if bound.clock_mhz else ""
    times = f"T_SOL {fmt.duration(bound.t_sol_ms)}, bound by {bound.binding}"
    return f"{bound.problem}{workload} on {bound.hardware}{clock}\n{times}"


def _legend(has_roofline: bool) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    bars: list[Artist] = [
        Patch(color=SCORED, label="enters T_SOL"),
        Patch(color=ESTIMATE, label="estimate, enters T_attainable only"),
    ]
    if not has_roofline:
        return bars
    ring = Line2D([], [], color=ESTIMATE, marker="o", fillstyle="none", linestyle="")
    ring.set_label("at T_attainable")
    return [
        *bars,
        Line2D([], [], color=SCORED, label="peaks"),
        Line2D([], [], color=POINT, marker="o", linestyle="", label="at T_SOL"),
        ring,
    ]


def _draw_terms(axes: Axes, bound: Bound) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    terms = [term for term in bound.terms if term.time_ms > 0][::-1]
    colours = [SCORED if term.enters == "t_sol" else ESTIMATE for term in terms]
    bars = axes.barh(
        [term.resource for term in terms], [term.time_ms * 1e-3 for term in terms], color=colours
    )
    axes.bar_label(bars, labels=[fmt.duration(t.time_ms) for t in terms], padding=3, fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("time of each term by itself")
    axes.margins(x=0.25)
    plain(axes)


def _dram(bound: Bound) -> Term:
    return next(term for term in bound.terms if term.resource == "dram" and term.enters == "t_sol")


def _matrix_s(bound: Bound) -> float:
    """Seconds of the matrix work at peak."""
    scored = (term for term in bound.terms if term.enters == "t_sol")
    return 1e-3 * sum(term.time_ms for term in scored if term.resource.startswith("matrix"))


def _draw_roofline(axes: Axes, bound: Bound) -> None:
    """The roof of these terms: DRAM's slope, and the matrix rate of this mix of precisions."""
    dram, flops = _dram(bound), sum(bound.matrix_flops.values())
    matrix_rate = flops / _matrix_s(bound)
    intensity, ridge = flops / dram.amount, matrix_rate / dram.rate_per_s
    low, high = min(intensity, ridge) / 4, max(intensity, ridge) * 4
    roof = [low * dram.rate_per_s, matrix_rate, matrix_rate]
    axes.loglog([low, ridge, high], roof, color=SCORED)
    reached = [flops / (ms * 1e-3) for ms in (bound.t_sol_ms, bound.t_attainable_ms) if ms]
    axes.plot([intensity], reached[:1], "o", color=POINT)
    axes.plot([intensity] * len(reached[1:]), reached[1:], "o", color=ESTIMATE, fillstyle="none")
    _name_roofs(axes, (low, roof[0]), (high, matrix_rate), dram.rate_per_s)
    log_units(axes.yaxis, min(*roof, *reached), matrix_rate, "FLOP/s")
    log_units(axes.xaxis, low, high)
    axes.set_xlabel("matrix FLOP per demanded byte")
    axes.set_ylabel("matrix throughput")
    axes.grid(True, linewidth=0.4, color=GRID)
    plain(axes)


def _name_roofs(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], bytes_per_s: float
) -> None:
    """The slope's rate right of its lower end, the flat roof's above its right end."""
    names = (
        (fmt.amount(bytes_per_s, "B/s"), start, (12, 0), "left", "center"),
        (fmt.amount(end[1], "FLOP/s"), end, (0, 3), "right", "bottom"),
    )
    for text, place, offset, across, along in names:
        axes.annotate(
            text, place, xytext=offset, textcoords="offset points",
            ha=across, va=along, fontsize=8, color=SCORED,
        )  # fmt: skip
