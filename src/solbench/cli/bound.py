"""``solbench bound``: T_SOL of every workload of problems and modules, without a GPU."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    Clock,
    Hardware,
    Json,
    OutFile,
    Precision,
    PrecisionChoice,
    Rules,
    load_user_rules,
)
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.bound import Bound


@app.command("bound")
def bound_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Problem folders, modules (Model, get_inputs, get_init_inputs), folders of either, "
            "or suite:NAME, where NAME may be a pattern; 'suite:' alone is the whole suite.",
        ),
    ],
    hardware: Hardware = None,
    clock_mhz: Clock = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Replay each graph in float64 against its reference."),
    ] = False,
    precision: Precision = PrecisionChoice.AUTO,
    rules: Rules = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, help="Processes; default: one a core."),
    ] = None,
    blobs: Blobs = None,
    json_lines: Json = False,
    out: OutFile = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Skip workloads that --out holds for this hardware and clock."
        ),
    ] = False,
) -> None:
    """Derive the speed-of-light bound of every workload.

    A program that fails is a line with its error; the others go on.
    Exit code 0 if every bound is complete, 1 if one is not.

    Example: solbench bound examples --hardware h200
    """
    if resume and out is None:
        raise InputError("there is no file to resume from", key="--resume", remedy="Give --out.")
    load_user_rules(rules)  # so that a wrong folder is one error, and not one a workload
    from solbench.bound import bound_lines
    from solbench.cli._hardware import resolve_hardware
    from solbench.cli._lines_bound import BoundLine
    from solbench.cli._problems import program_paths
    from solbench.cli._records import appending

    bounds: list[Bound] = []
    with ExitStack() as stack:
        append = stack.enter_context(appending(out))
        bar = stack.enter_context(_console.progress("deriving bounds", None))
        lines = bound_lines(
            stack.enter_context(program_paths(paths)),
            resolve_hardware(hardware),
            jobs=jobs,
            clock_mhz=clock_mhz,
            verify=verify,
            precision=precision.value,
            rules=rules or (),
            out=out if resume else None,
            blob_roots=blobs or (),
        )
        for bound in lines:
            bounds.append(bound)
            line = _console.json_line(_console.plain(BoundLine.of(bound)))
            append(line)
            if json_lines:
                _console.emit_text(line)
            bar.advance(bound.problem)
    if not json_lines:
        from solbench.report import bound_report

        _console.out().print(bound_report(bounds))
    if not all(bound.complete for bound in bounds):
        raise typer.Exit(_console.ExitCode.NO)
