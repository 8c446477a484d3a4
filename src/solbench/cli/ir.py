"""``solbench ir``: the lifted graph of a program as a file, its bound, and its picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Blobs, Clock, Hardware, Json, OneWorkload
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.bound.ir import LiftedProgram

ir_app = typer.Typer(
    no_args_is_help=True,
    help="The lifted graph: write it as YAML, draw it, or derive the bound of a file.",
)
app.add_typer(ir_app, name="ir")

Subject = Annotated[
    Path,
    typer.Argument(metavar="PATH", help="A problem folder, suite:NAME, or a module."),
]


@ir_app.command("export")
def export_command(
    path: Subject,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write here; default: stdout.")
    ] = None,
    workload: OneWorkload = None,
    blobs: Blobs = None,
    json_lines: Json = False,
) -> None:
    """Write the lifted graph of one workload as YAML; with --json as one line of JSON, which reads back too.

    Exit code 0, or 1 if the program cannot be captured.

    Example: solbench ir export examples/rmsnorm --out rmsnorm.yaml
    """
    _console.require_folder(out, "--out")
    from solbench.bound.ir import document, export_ir
    from solbench.cli._lines_ir import GraphFileLine, GraphLine

    program = _lifted(path, workload, blobs)
    if out is not None:
        text = _console.json_line(document(program)) + "\n" if json_lines else export_ir(program)
        _console.write_file(out, text)
        _console.note(f"written: {out}")
        if json_lines:
            _console.emit(GraphFileLine(file=str(out), operations=len(program.lifted.steps)))
    elif json_lines:
        _console.emit(GraphLine.of(document(program)))
    else:
        typer.echo(export_ir(program), nl=False)


@ir_app.command("bound")
def bound_command(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A file of 'solbench ir export'.")],
    hardware: Hardware = None,
    clock_mhz: Clock = None,
    json_lines: Json = False,
) -> None:
    """Derive and explain the bound of an exported graph, at declared precision.

    Exit code 0 if the bound is complete, 1 if not.

    Example: solbench ir bound rmsnorm.yaml --hardware b200
    """
    from solbench.bound.ir import derive_from_ir, read_ir
    from solbench.cli._hardware import resolve_hardware
    from solbench.cli._lines_bound import BoundLine
    from solbench.hardware import load_hardware

    program = read_ir(path)
    bound = derive_from_ir(program, load_hardware(resolve_hardware(hardware)), clock_mhz)
    if json_lines:
        _console.emit(BoundLine.of(bound))
    else:
        from solbench.report import explain_report

        _console.out().print(explain_report(bound))
    if not bound.complete:
        raise typer.Exit(_console.ExitCode.NO)


@ir_app.command("picture")
def picture_command(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="A problem, a module, or a file of 'ir export'."),
    ],
    svg: Annotated[Path, typer.Option("--svg", metavar="FILE", help="Picture to write.")],
    workload: OneWorkload = None,
    blobs: Blobs = None,
    json_lines: Json = False,
) -> None:
    """Draw the lifted graph as SVG. In a large one the operations of a line share a box.

    Exit code 0, or 1 if the program cannot be captured.

    Example: solbench ir picture examples/swiglu --svg swiglu.svg
    """
    if svg.suffix != ".svg":
        raise InputError("is not the name of an SVG file", file=svg, key="--svg")
    _console.require_folder(svg, "--svg")
    from solbench.bound import graph_svg
    from solbench.bound.ir import read_ir

    stored = path.suffix in (".yaml", ".yml")
    program = read_ir(path) if stored else _lifted(path, workload, blobs)
    _console.write_file(svg, graph_svg(program.lifted))
    _console.note(f"written: {svg}")
    if json_lines:
        from solbench.cli._lines import PictureLine

        _console.emit(PictureLine(picture=str(svg), operations=len(program.lifted.steps)))


def _lifted(path: Path, workload: str | None, blobs: list[Path] | None) -> LiftedProgram:
    from solbench.bound import problem_program
    from solbench.bound.ir import lift_program
    from solbench.cli._explaining import program_at
    from solbench.spec import Problem, contained

    subject, uuid = program_at(path, workload, blobs)
    if isinstance(subject, Problem):
        subject = problem_program(subject, subject.workload(uuid or subject.workloads[0].uuid))
    with _console.records_only(), contained():
        return lift_program(subject)
