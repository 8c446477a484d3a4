"""The one look of our tables: a rule below the head, no frame, one blank between columns."""

from __future__ import annotations

from collections.abc import Collection

from rich.box import SIMPLE_HEAD
from rich.table import Table


def grid(*columns: str, numbers: Collection[str] = ()) -> Table:
    """A table with these columns; those named in ``numbers`` stand to the right and are never broken.

    Others are broken inside a word where they must be: nothing is cut off. A column that needs more is added to
    the result.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        number = name in numbers
        table.add_column(
            name, justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    return table


def pairs() -> Table:
    """Names and what belongs to them, without a head."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    return table
