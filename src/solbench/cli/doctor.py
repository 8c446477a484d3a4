"""``solbench doctor``: what this machine can do, and what to install for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json

if TYPE_CHECKING:
    from solbench.cli._probes import Check

_MARKS = {"ok": Text("✓", "green"), "missing": Text("✗", "bold red"), "note": Text("–", "yellow")}


@app.command("doctor")
def doctor_command(json_lines: Json = False) -> None:
    """Say what this machine can do: torch, GPUs, compilers, jail layers, clocks.

    Only looks; changes nothing. Exit code 0 if solutions can be evaluated on the CPU, else 3.
    """
    from solbench.cli._probes import probe_all

    with _console.progress("looking", None):
        checks = list(probe_all())
    if json_lines:
        for check in checks:
            _console.emit(asdict(check))
    else:
        _console.out().print(_table(checks))
    if any(check.required and check.state == "missing" for check in checks):
        raise typer.Exit(_console.ExitCode.ENVIRONMENT)


def _table(checks: Sequence[Check]) -> RenderableType:
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    area = ""
    for check in checks:
        text = Text(check.detail)
        if check.remedy:
            text.append(f"\n{check.remedy}", style="dim")
        shown = "" if check.area == area else check.area
        table.add_row(shown, _MARKS[check.state], check.name, text)
        area = check.area
    return table
