"""``solbench explain``: where a bound comes from, term by term."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import (
    Blobs,
    Clock,
    Hardware,
    Json,
    Precision,
    PrecisionChoice,
    select_workloads,
)
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.bound import Bound, Program
    from solbench.spec import Problem


class Method(StrEnum):
    DEMAND = "demand"
    FUSED_IO = "fused-io"


@app.command("explain")
def explain_command(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A problem folder, its definition.json, or a module (Model, get_inputs, get_init_inputs).",
        ),
    ],
    workload: Annotated[
        str | None,
        typer.Option("--workload", metavar="UUID", help="Which workload; default: the first."),
    ] = None,
    hardware: Hardware = None,
    clock_mhz: Clock = None,
    why_not: Annotated[
        bool, typer.Option("--why-not", help="Also list what was left out, and why.")
    ] = False,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            metavar="demand|fused-io",
            help="fused-io: also the plain count (all contraction work, all tensors once).",
        ),
    ] = Method.DEMAND,
    verify: Annotated[
        bool, typer.Option("--verify", help="Replay the graph in float64 against the reference.")
    ] = False,
    precision: Precision = PrecisionChoice.AUTO,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg", help="Write the terms and the roofline."),
    ] = None,
    blobs: Blobs = None,
    json_lines: Json = False,
) -> None:
    """Explain a bound: its terms with their numbers, operations, traffic and assumptions.

    Exit code 0 if the bound is complete, 1 if not.

    Example: solbench explain examples/rmsnorm --hardware b200 --why-not
    """
    from solbench.bound import derive_bound
    from solbench.cli._hardware import resolve_hardware
    from solbench.spec import contained

    if plot is not None and plot.suffix != ".svg":
        raise InputError("is not the name of an SVG file", file=plot, key="--plot")
    program, uuid = _program(path, workload, blobs)
    device = resolve_hardware(hardware)
    quiet = _console.records_only() if json_lines else nullcontext()
    with quiet, _console.progress("deriving the bound", None), contained():
        (bound,) = derive_bound(
            program,
            device,
            workload=uuid,
            clock_mhz=clock_mhz,
            verify=verify,
            precision=precision.value,
        )
    if plot is not None:
        from solbench.report import bound_svg

        plot.write_text(bound_svg(bound), encoding="utf-8")
    if json_lines:
        _console.emit(_record(bound, method))
    else:
        _print(bound, method, why_not)
    if not bound.complete:
        raise typer.Exit(_console.ExitCode.NO)


def _program(
    path: Path, workload: str | None, blobs: list[Path] | None
) -> tuple[Problem | Program, str | None]:
    from solbench.bound import module_program
    from solbench.spec import load_problem

    if path.suffix == ".py":
        if workload is not None:
            raise InputError("a module has no workloads", file=path, key="--workload")
        if not path.is_file():
            raise InputError("no such file or folder", file=path)
        return module_program(path), None
    problem = load_problem(path, blobs or ())
    chosen = select_workloads(problem, None if workload is None else [workload])[0]
    if workload is None and len(problem.workloads) > 1:
        _console.note(f"note: the first of {len(problem.workloads)} workloads; see --workload")
    return problem, chosen.uuid


def _print(bound: Bound, method: Method, why_not: bool) -> None:
    from solbench.bound import plain_count
    from solbench.report import explain_report, plain_count_table

    _console.out().print(explain_report(bound, why_not=why_not))
    if method is Method.FUSED_IO and bound.demand is not None:
        _console.out().print(plain_count_table(bound, plain_count(bound.demand)))


def _record(bound: Bound, method: Method) -> dict[str, Any]:
    """The record of ``solbench bound`` with the reasons beside it."""
    from solbench.bound import bound_record, plain_count

    demand = bound.demand
    record = {
        **bound_record(bound),
        "terms": [asdict(term) for term in bound.terms],
        "nodes": [asdict(node) for node in demand.nodes] if demand else [],
        "traffic": [asdict(each) for each in demand.traffic] if demand else [],
        "removed": [asdict(each) for each in demand.removed] if demand else [],
    }
    if method is Method.FUSED_IO and demand is not None:
        record["fused_io"] = asdict(plain_count(demand))
    return record
