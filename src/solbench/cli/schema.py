"""``solbench schema``: JSON Schema of the exchanged files and of what commands print."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json


@app.command("schema")
def schema_command(
    name: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="definition, workload, solution or trace; or a command, such as 'suite list', for any "
            "line of its --json; or error, for the line that a command which fails ends with. "
            "Left out: list the names.",
        ),
    ] = None,
    json_lines: Json = False,
) -> None:
    """Print the JSON Schema of a file's record or of a command's --json line .

    Exit code 0, or 2 for a name that has none.

    Example: solbench schema suite list
    """
    from solbench.cli._schemas import command_schema
    from solbench.spec import SCHEMAS, schema

    if not name:
        _list_names(json_lines)
        return
    words = " ".join(name)
    document = schema(words) if words.lower() in SCHEMAS else command_schema(words)
    if json_lines:
        _console.emit_text(_console.json_line(document))
    else:
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _list_names(json_lines: bool) -> None:
    from solbench.cli._lines import SchemaNamesLine
    from solbench.cli._schemas import COMMANDS, ERROR
    from solbench.spec import SCHEMAS

    if json_lines:
        _console.emit(SchemaNamesLine(files=tuple(SCHEMAS), commands=(*COMMANDS, ERROR)))
        return
    for names in (SCHEMAS, (*COMMANDS, ERROR)):
        _console.out().print(", ".join(names), markup=False)
