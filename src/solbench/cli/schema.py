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
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="definition, workload, solution or trace; or a command, such as 'suite list', for any "
            "line of its --json; or error, for the line that a command which fails ends with.",
        ),
    ],
    json_lines: Json = False,
) -> None:
    """Print the JSON Schema of a file's record or of a command's --json line (always JSON).

    Exit code 0, or 2 for a name that has none; the message lists those that have.

    Example: solbench schema suite list
    """
    from solbench.cli._schemas import command_schema
    from solbench.spec import SCHEMAS, schema

    words = " ".join(name)
    document = schema(words) if words.lower() in SCHEMAS else command_schema(words)
    if json_lines:
        _console.emit_text(_console.json_line(document))
    else:
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
