"""Drawing to a file's bytes: SVG with text as text, or PNG; and what our pictures have in common."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from solbench.errors import InputError, MissingExtra
from solbench.report import _format as fmt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SCORED, ESTIMATE, POINT, GRID = "#0d8a6a", "#a9b4bd", "#2563c9", "#dfe3e6"
_FEW_DECADES = 3.0
"""Below this, powers of ten alone would leave an axis with two or three labels."""


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """A figure whose output does not depend on when it was made. Raises ``MissingExtra``."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise MissingExtra("matplotlib", "report", error) from error

    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "solbench"}):
        yield NewFigure(figsize=(width, height), layout="constrained")


def rendered(drawn: Figure, suffix: str) -> bytes:
    """The file's contents. Inside ``figure`` only. Raises ``InputError`` for another ending."""
    buffer = io.BytesIO()
    if suffix == ".svg":
        drawn.savefig(buffer, format="svg", metadata={"Date": None})
    elif suffix == ".png":
        drawn.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    else:
        raise InputError(f"cannot draw {suffix or 'without an ending'}", remedy="Use .svg or .png.")
    return buffer.getvalue()


def plain(axes: Axes) -> None:
    """No frame at the top and the right."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def log_units(axis: Axis, low: float, high: float, unit: str = "") -> None:
    """Label a decimal log axis that runs from ``low`` to ``high``: ``200 TFLOP/s``; without a unit ``0.5``."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    few = high < low * 10**_FEW_DECADES
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    number = FuncFormatter(lambda value, _: f"{value:g}")
    axis.set_major_formatter(EngFormatter(unit) if unit else number)
    axis.set_minor_formatter(NullFormatter())


def log_bytes(axis: Axis) -> None:
    """Label a binary log axis of bytes: ``64 KiB``, ``1 MiB``."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=2, numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _whole_size(value)))
    axis.set_minor_formatter(NullFormatter())


def _whole_size(byte_count: float) -> str:
    """Of a power of two, which needs no decimals in its unit."""
    number, unit = fmt.size(byte_count).split()
    return f"{float(number):g} {unit}"


def below(drawn: Figure, columns: int, **legend: object) -> None:
    """A legend under the panels, where nothing drawn can lie below it."""
    drawn.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=8, **legend)
