"""``solbench doctor``: what this machine can do, and what to install for the rest."""

from __future__ import annotations

from collections.abc import Sequence
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

    Example: solbench doctor
    """
    from solbench.cli._probes import probe_all

    with _console.progress("looking", None):
        checks = list(probe_all())
    if json_lines:
        for check in checks:
            _console.emit(check)
    else:
        _console.out().print(_table(checks))
        for line in abilities(checks):
            _console.out().print(line)
    if any(check.required and check.state == "missing" for check in checks):
        raise typer.Exit(_console.ExitCode.ENVIRONMENT)


def abilities(checks: Sequence[Check]) -> list[Text]:
    """What follows from the checks, one line for each way to use SolBench."""
    good = {check.name for check in checks if check.state == "ok"}
    blocked = [check.name for check in checks if check.required and check.state == "missing"]
    languages = {"g++": "C++", "triton": "Triton"}
    cpu = ", ".join(["PyTorch", *(text for name, text in languages.items() if name in good)])
    jail = [check for check in checks if check.area == "jail"]
    complete = bool(jail) and all(check.state == "ok" for check in jail)
    return [
        _ability("evaluate on the CPU", not blocked, cpu if not blocked else ", ".join(blocked)),
        _ability("evaluate on a GPU", "cuda:0" in good, "--device cuda:0" * ("cuda:0" in good)),
        _ability("--require-jail", complete, "" if complete else "a layer is missing"),
    ]


def _ability(what: str, able: bool, detail: str) -> Text:
    answer = ("yes", "bold green") if able else ("no", "bold yellow")
    return Text.assemble(f"{what}: ", answer, f"   {detail}" if detail else "")


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
