"""``solbench serve``: evaluation as a local HTTP service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json

_TOKEN = "SOLBENCH_SERVICE_TOKEN"


@app.command("serve")
def serve_command(
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help=f"Where to listen. Beyond this machine a token is needed: set {_TOKEN}.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0: any that is free.")
    ] = 8765,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", metavar="DEVICE", help="May be repeated; each has its queue. Default: cpu."
        ),
    ] = None,
    roots: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Folder below which clients may name problems. May be repeated.",
        ),
    ] = None,
    inline: Annotated[
        bool,
        typer.Option(
            "--inline/--no-inline",
            help="Whether clients may send problems of their own, whose references then run "
            "with your rights.",
        ),
    ] = True,
    most_bytes: Annotated[
        int, typer.Option("--most-bytes", metavar="N", min=1024, help="Largest request taken.")
    ] = 8 << 20,
    grace_s: Annotated[
        float,
        typer.Option(
            "--grace", metavar="SECONDS", min=0, help="For what still runs when told to stop."
        ),
    ] = 60.0,
    json_lines: Json = False,
) -> None:
    """Evaluate for others over HTTP: submit, ask, fetch, cancel. OpenAPI at /docs and /openapi.json.

    SIGTERM or Ctrl-C: nothing new is taken, what waits is cancelled, what runs is finished.

    Exit code 0 then; 3 if the address cannot be listened on or a device is missing.

    Example: solbench serve --root examples --device cuda:0
    """
    from solbench.service import Settings, serve

    settings = Settings(
        host=host,
        port=port,
        devices=tuple(dict.fromkeys(device or ["cpu"])),
        roots=tuple(roots or ()),
        token=os.environ.get(_TOKEN, ""),
        inline_problems=inline,
        most_bytes=most_bytes,
        grace_s=grace_s,
    )

    def started(url: str) -> None:
        if json_lines:
            from solbench.cli._lines import ServeLine

            _console.emit(ServeLine(url=url, devices=settings.devices))
        else:
            _console.note(f"serving {', '.join(settings.devices)} at {url} (Ctrl-C stops)")

    serve(settings, started)
