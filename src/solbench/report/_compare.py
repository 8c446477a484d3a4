"""Two bounds side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from solbench.report import _format as fmt
from solbench.report._grid import grid

if TYPE_CHECKING:
    from solbench.bound import Difference

_MOST_ROWS = 60


def compare_table(differences: Sequence[Difference], first: str, second: str) -> RenderableType:
    """What differs; a short sentence if nothing does."""
    if not differences:
        return Text("the two bounds are equal", style="green")
    table = grid("")
    for name in (first, second):
        table.add_column(Text(name, overflow="fold"), justify="right", min_width=9)
    table.add_column("second ÷ first", justify="right", no_wrap=True)
    for row in differences[:_MOST_ROWS]:
        table.add_row(
            Text(row.what),
            _shown(row.first, row.unit),
            _shown(row.second, row.unit),
            fmt.ratio(row.ratio),
        )
    left = len(differences) - _MOST_ROWS
    if left > 0:
        table.caption = f"and {left} more differences; --json lists them"
    return table


def _shown(value: float | str | None, unit: str) -> Text:
    if value is None:
        return Text(fmt.ABSENT)
    if isinstance(value, str):
        return Text(value)
    if unit == "MHz":
        return Text(f"{value:.0f} MHz")
    return Text(fmt.duration(value) if unit == "ms" else fmt.amount(value, unit))
