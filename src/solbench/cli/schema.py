"""``solbench schema``: JSON Schema of the exchanged files."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from solbench.cli._app import app
from solbench.cli._options import Json


class Model(StrEnum):
    DEFINITION = "definition"
    WORKLOAD = "workload"
    SOLUTION = "solution"
    TRACE = "trace"


@app.command("schema")
def schema_command(
    model: Annotated[
        Model, typer.Argument(metavar="MODEL", help="definition, workload, solution or trace.")
    ],
    json_lines: Json = False,
) -> None:
    """Print the JSON Schema of a definition, workload, solution or trace (always JSON)."""
    from solbench.spec import schema

    document = schema(model.value)
    typer.echo(json.dumps(document, indent=None if json_lines else 2, ensure_ascii=False))
