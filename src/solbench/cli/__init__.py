"""The command line: a thin face of the library, one file a command.

Commands import what they need when they run, so that ``solbench --help`` is quick.
"""

from __future__ import annotations

from solbench.cli import (  # noqa: F401 - commands register themselves when imported
    admit,
    attacks,
    bound,
    calibrate,
    challenge,
    check,
    compare,
    doctor,
    eval,
    explain,
    guard,
    hardware,
    ir,
    new,
    ops,
    pack,
    profile,
    replay,
    report,
    schema,
    serve,
    suite,
)
from solbench.cli._app import app
from solbench.cli._console import ExitCode, speak_any_locale

__all__ = ["ExitCode", "app", "main"]


def main() -> None:
    """Entry point of the ``solbench`` script."""
    speak_any_locale()
    app()
