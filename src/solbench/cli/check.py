"""``solbench check``: are these files valid, and if not, what is wrong and where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Blobs, Json


@app.command("check")
def check_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Problem folders, definition, workload, solution or trace files, or trees of them.",
        ),
    ],
    blobs: Blobs = None,
    json_lines: Json = False,
) -> None:
    """Check files against the exchange formats, all problems in one pass.

    Exit code 0 if there is no error (warnings are allowed), 1 otherwise.

    Example: solbench check examples
    """
    from solbench.spec import check

    with _console.progress("checking", None):
        findings = [finding for path in paths for finding in check(path, blobs or ())]
    if json_lines:
        for finding in findings:
            _console.emit(finding)
    else:
        from solbench.report import findings_report

        _console.out().print(findings_report(findings))
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(_console.ExitCode.NO)
