"""A picture of one bound: the time of each term, and its place under the roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solbench.errors import InputError
from solbench.report import _format as fmt
from solbench.report._figure import ESTIMATE, POINT, SCORED, figure, plain, rendered

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from solbench.bound import Bound, Term


def bound_svg(bound: Bound) -> str:
    """A standalone SVG. Raises ``InputError`` for an incomplete bound, ``MissingExtra`` without matplotlib."""
    return bound_plot(bound, ".svg").decode("utf-8")


def bound_plot(bound: Bound, suffix: str) -> bytes:
    """The same as the contents of a ``.svg`` or ``.png`` file."""
    if bound.t_sol_ms is None:
        raise InputError("an incomplete bound cannot be drawn", key=bound.problem)
    has_matrix_work = any(bound.matrix_flops.values())
    with figure(9.0 if has_matrix_work else 5.0, 3.4) as drawn:
        panels = drawn.subplots(1, 2 if has_matrix_work else 1, squeeze=False)[0]
        _draw_terms(panels[0], bound)
        if has_matrix_work:
            _draw_roofline(panels[1], bound)
        drawn.suptitle(f"{bound.problem} on {bound.hardware}", fontsize=11)
        return rendered(drawn, suffix)


def _draw_terms(axes: Axes, bound: Bound) -> None:
    terms = [term for term in bound.terms if term.time_ms > 0][::-1]
    colours = [SCORED if term.enters == "t_sol" else ESTIMATE for term in terms]
    bars = axes.barh([_label(t) for t in terms], [t.time_ms * 1e3 for t in terms], color=colours)
    axes.bar_label(bars, labels=[fmt.duration(t.time_ms) for t in terms], padding=3, fontsize=8)
    axes.set_xlabel("µs (green enters T_SOL, grey only T_attainable)")
    axes.margins(x=0.25)
    plain(axes)


def _label(term: Term) -> str:
    suffix = "" if term.enters == "t_sol" else " (estimate)"
    return f"{term.resource}{suffix}"


def _draw_roofline(axes: Axes, bound: Bound) -> None:
    """The roof of these terms: DRAM's slope, and the matrix rate of this mix of precisions."""
    if bound.t_sol_ms is None:
        return
    scored = [term for term in bound.terms if term.enters == "t_sol"]
    flops = sum(bound.matrix_flops.values())
    dram = next(term for term in scored if term.resource == "dram")
    matrix_s = 1e-3 * sum(term.time_ms for term in scored if term.resource.startswith("matrix"))
    if not (dram.amount and matrix_s):
        axes.set_axis_off()
        return
    matrix_rate = flops / matrix_s
    intensity, ridge = flops / dram.amount, matrix_rate / dram.rate_per_s
    low, high = min(intensity, ridge) / 4, max(intensity, ridge) * 4
    roof = [low * dram.rate_per_s, matrix_rate, matrix_rate]
    axes.loglog([low, ridge, high], roof, color=SCORED)
    axes.plot([intensity], [flops / (bound.t_sol_ms * 1e-3)], "o", color=POINT)
    if bound.t_attainable_ms:
        attained = flops / (bound.t_attainable_ms * 1e-3)
        axes.plot([intensity], [attained], "o", color=ESTIMATE, fillstyle="none")
    axes.set_xlabel("matrix FLOP per demanded byte")
    axes.set_ylabel("FLOP/s at T_SOL (ring: T_attainable)")
    axes.grid(True, linewidth=0.4, color="#dfe3e6")
    plain(axes)
