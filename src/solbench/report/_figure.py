"""Drawing to a file's bytes: SVG with text as text, or PNG."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from solbench.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCORED, ESTIMATE, POINT = "#0d8a6a", "#a9b4bd", "#2563c9"


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """A figure whose output does not depend on when it was made. Raises ``MissingExtra``."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise MissingExtra("matplotlib", "report") from error

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
