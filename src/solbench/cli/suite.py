"""``solbench suite``: the bundled problems: list, show, export, check."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.suite import ProblemSource
    from solbench.suite.admission import BoundScope

suite_app = typer.Typer(
    no_args_is_help=True, help="List, show, export or check the bundled problems."
)
app.add_typer(suite_app, name="suite")

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Problems; default: all of them.")
]


class Grouping(StrEnum):
    """What ``suite list`` groups by."""

    TIER = "tier"
    FAMILY = "family"
    MODEL = "model"


@suite_app.command("list")
def list_command(
    by: Annotated[
        Grouping, typer.Option("--by", help="How to group the problems.")
    ] = Grouping.TIER,
    json_lines: Json = False,
) -> None:
    """List the bundled problems, and count them against what the suite is to become.

    Exit code 0.

    Example: solbench suite list --by model
    """
    from solbench.cli._lines_suite import ProblemLine
    from solbench.cli._suite_tables import composition_table, problem_list
    from solbench.suite import catalogue, composition

    sources = tuple(catalogue().values())
    if json_lines:
        for source in sources:
            _console.emit(ProblemLine.of(source))
        return
    _console.out().print(problem_list(sources, by.value))
    _console.out().print(composition_table(composition(sources)))


@suite_app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A problem of the suite.")],
    json_lines: Json = False,
) -> None:
    """Show one problem: its models, shapes, workloads, and reference.

    Exit code 0, or 2 for a name that the suite does not have.

    Example: solbench suite show fused_add_rmsnorm_h4096
    """
    from solbench.cli._lines_suite import ProblemLine
    from solbench.cli._suite_tables import problem_report, reference_text
    from solbench.suite import source_of

    source = source_of(name)
    if json_lines:
        _console.emit(ProblemLine.of(source))
        return
    _console.out().print(problem_report(source))
    _console.out().print(reference_text(source), soft_wrap=True)


@suite_app.command("export")
def export_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write problem folders to.")
    ],
    names: Names = None,
    json_lines: Json = False,
) -> None:
    """Write problems as folders in the public form, with smoke workloads beside the full ones.

    Exit code 0, or 2 for a name that the suite does not have.

    Example: solbench suite export out/suite gemm_n4096_k4096
    """
    from solbench.cli._lines import ExportLine
    from solbench.suite import export

    for source in _chosen(names):
        target = export(source.name, folder)
        if json_lines:
            _console.emit(ExportLine(problem=source.name, folder=str(target)))
    if not json_lines:
        from solbench.report import counted

        written = counted(len(_chosen(names)), "problem")
        _console.out().print(f"{written} in {folder}", markup=False, soft_wrap=True)


@suite_app.command("check")
def check_command(
    names: Names = None,
    bounds: Annotated[
        bool, typer.Option("--bounds/--no-bounds", help="Derive bounds too, the slowest part.")
    ] = True,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Bounds of all workloads in place of three a problem; takes much longer."
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, help="Processes; default: one a core."),
    ] = None,
    json_lines: Json = False,
) -> None:
    """Put problems to the admission test, on their smoke workloads on the CPU.

    Exit code 0 if no gate failed, 1 otherwise. A gate that could not be decided is shown as open. Below the
    findings stands what the suite is made of.

    Example: solbench suite check gemm_n4096_k4096
    """
    from solbench.cli._lines_suite import ProblemCheckLine
    from solbench.cli._suite_tables import check_table, composition_table
    from solbench.suite import catalogue, composition
    from solbench.suite.admission import check_problems

    if full and not bounds:
        raise InputError("asks for bounds", key="--full", remedy="Leave out --no-bounds.")
    scope: BoundScope = "all" if full else "two" if bounds else "none"
    chosen = [source.name for source in _chosen(names)]
    checks = []
    with _console.progress("checking problems", len(chosen)) as bar:
        for check in check_problems(chosen, bounds=scope, jobs=jobs):
            checks.append(check)
            if json_lines:
                _console.emit(ProblemCheckLine.of(check))
            bar.advance(check.problem)
    if not json_lines:
        _console.out().print(check_table(checks))
        if not names:
            _console.out().print(composition_table(composition(catalogue().values())))
    if not all(check.passed for check in checks):
        raise typer.Exit(_console.ExitCode.NO)


def _chosen(names: list[str] | None) -> list[ProblemSource]:
    from solbench.suite import catalogue, source_of

    return [source_of(name) for name in names] if names else list(catalogue().values())
