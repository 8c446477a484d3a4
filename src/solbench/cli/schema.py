"""``solbench schema``: JSON Schema of the exchanged files and of what commands print."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from solbench.cli._app import app
from solbench.cli._options import Json


@app.command("schema")
def schema_command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="definition, workload, solution or trace; or a command, for a line of its --json: "
            "bound, check, doctor, eval, guard, guard-rules, hardware, new, pack, profile, report, "
            "serve, unpack.",
        ),
    ],
    json_lines: Json = False,
) -> None:
    """Print the JSON Schema of a file's record or of a command's --json line (always JSON)."""
    from solbench.cli._schemas import command_schema
    from solbench.spec import SCHEMAS, schema

    document = schema(name) if name.lower() in SCHEMAS else command_schema(name)
    typer.echo(json.dumps(document, indent=None if json_lines else 2, ensure_ascii=False))
