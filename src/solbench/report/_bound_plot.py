"""A picture of one bound: the time of each term, and its place under the roofline."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from solbench.errors import InputError, MissingExtra
from solbench.report import _format as fmt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from solbench.bound import Bound, Term

_SCORED, _ESTIMATE, _POINT = "#0d8a6a", "#a9b4bd", "#2563c9"


def bound_svg(bound: Bound) -> str:
    """A standalone SVG. Raises ``InputError`` for an incomplete bound, ``MissingExtra`` without matplotlib."""
    if bound.t_sol_ms is None:
        raise InputError("an incomplete bound cannot be drawn", key=bound.problem)
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "report") from error

    has_matrix_work = any(bound.matrix_flops.values())
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "solbench"}):
        figure = Figure(figsize=(9.0 if has_matrix_work else 5.0, 3.4), layout="constrained")
        panels = figure.subplots(1, 2 if has_matrix_work else 1, squeeze=False)[0]
        _draw_terms(panels[0], bound)
        if has_matrix_work:
            _draw_roofline(panels[1], bound)
        figure.suptitle(f"{bound.problem} on {bound.hardware}", fontsize=11)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _draw_terms(axes: Axes, bound: Bound) -> None:
    terms = [term for term in bound.terms if term.time_ms > 0][::-1]
    colours = [_SCORED if term.enters == "t_sol" else _ESTIMATE for term in terms]
    bars = axes.barh([_label(t) for t in terms], [t.time_ms * 1e3 for t in terms], color=colours)
    axes.bar_label(bars, labels=[fmt.duration(t.time_ms) for t in terms], padding=3, fontsize=8)
    axes.set_xlabel("µs (green enters T_SOL, grey only T_attainable)")
    axes.margins(x=0.25)
    _plain(axes)


def _label(term: Term) -> str:
    suffix = "" if term.enters == "t_sol" else " (estimate)"
    return f"{term.resource}{suffix}"


def _draw_roofline(axes: Axes, bound: Bound) -> None:
    """The roof of these terms: DRAM's slope, and the matrix rate of this mix of precisions."""
    if bound.t_sol_ms is None:
        return
    scored = [term for term in bound.terms if term.enters == "t_sol"]
    flops = sum(bound.matrix_flops.values())
    moved = bound.dram_read_bytes + bound.dram_write_bytes
    dram_rate = next(term.rate_per_s for term in scored if term.resource == "dram")
    matrix_s = 1e-3 * sum(term.time_ms for term in scored if term.resource.startswith("matrix"))
    matrix_rate = flops / matrix_s
    intensity, ridge = flops / moved, matrix_rate / dram_rate
    low, high = min(intensity, ridge) / 4, max(intensity, ridge) * 4
    axes.loglog([low, ridge, high], [low * dram_rate, matrix_rate, matrix_rate], color=_SCORED)
    axes.plot([intensity], [flops / (bound.t_sol_ms * 1e-3)], "o", color=_POINT)
    axes.set_xlabel("matrix FLOP per demanded byte")
    axes.set_ylabel("FLOP/s at T_SOL")
    axes.grid(True, linewidth=0.4, color="#dfe3e6")
    _plain(axes)


def _plain(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
