"""``solbench explain``: where a bound comes from, term by term."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._explaining import (
    explained_record,
    is_record_file,
    other_record,
    program_at,
    saved_record,
)
from solbench.cli._options import (
    Blobs,
    Clock,
    Hardware,
    Json,
    OneWorkload,
    Precision,
    PrecisionChoice,
    Rules,
    load_user_rules,
)
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.bound import Bound, CacheReport, PlainCount, Program
    from solbench.cli._explaining import Derive, Subject
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
            help="A problem folder, its definition.json, or a module (Model, get_inputs, get_init_inputs); "
            "with --compare also a file of saved bounds.",
        ),
    ],
    workload: OneWorkload = None,
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
    cache: Annotated[
        bool,
        typer.Option("--cache", help="Also traffic of the contractions against on-chip capacity."),
    ] = False,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="OTHER",
            help="List what differs in another bound: of a path, a hardware name, "
            "a workload of this problem, or a file of saved bounds.",
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Replay the graph in float64 against the reference.")
    ] = False,
    precision: Precision = PrecisionChoice.AUTO,
    rules: Rules = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw the terms and the roofline (.svg, .png)."
        ),
    ] = None,
    cache_plot: Annotated[
        Path | None,
        typer.Option(
            "--cache-plot", metavar="FILE", help="Draw traffic against capacity (.svg, .png)."
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write everything as one page without a network."
        ),
    ] = None,
    blobs: Blobs = None,
    json_lines: Json = False,
) -> None:
    """Explain a bound: its terms with their numbers, operations, traffic and assumptions.

    Exit code 0 if the bound is complete, 1 if not.

    Example: solbench explain examples/rmsnorm --hardware b200 --why-not
    """
    _check_files(plot, cache_plot, html)
    load_user_rules(rules)

    from solbench.cli._hardware import resolve_hardware

    saved = is_record_file(path)
    subject = None if saved else program_at(path, workload, blobs)
    device = hardware if saved else resolve_hardware(hardware)

    def derive(program: Problem | Program, uuid: str | None, other: str | None) -> Bound:
        name = other or device or resolve_hardware(None)
        return _derived(program, uuid, name, clock_mhz, verify, precision)

    if subject is None or device is None:
        _compare_saved(path, compare, derive, blobs, json_lines)
        return
    bound = derive(*subject, None)
    if compare is not None:
        own = explained_record(bound)
        _compare(str(path), own, other_record(compare, own, subject, derive, blobs), json_lines)
        return
    curves = _curves(bound, device) if cache or cache_plot or html else None
    _write_files(bound, curves, plot, cache_plot, html)
    if json_lines:
        from solbench.cli._lines_bound import ExplainLine

        _console.emit(
            ExplainLine.explained(bound, _plain(bound, method), curves if cache else None)
        )
    else:
        _print(bound, method, why_not, curves if cache else None)
    if not bound.complete:
        raise typer.Exit(_console.ExitCode.NO)


def _check_files(plot: Path | None, cache_plot: Path | None, html: Path | None) -> None:
    for key, file, endings in (
        ("--plot", plot, (".svg", ".png")),
        ("--cache-plot", cache_plot, (".svg", ".png")),
        ("--html", html, (".html", ".htm")),
    ):
        if file is not None and file.suffix not in endings:
            remedy = f"Let its name end in {' or '.join(endings)}."
            raise InputError("cannot be written in this form", file=file, key=key, remedy=remedy)
        _console.require_folder(file, key)


def _derived(
    program: Problem | Program, uuid: str | None, hardware: str, clock_mhz: float | None, verify: bool,
    precision: PrecisionChoice,
) -> Bound:  # fmt: skip
    from solbench.bound import derive_bound
    from solbench.spec import contained

    with _console.progress("deriving the bound", None), contained():
        (bound,) = derive_bound(
            program, hardware, workload=uuid, clock_mhz=clock_mhz, verify=verify,
            precision=precision.value,
        )  # fmt: skip
    return bound


def _curves(bound: Bound, hardware: str) -> CacheReport | None:
    """Traffic against capacity; nothing for a program without contractions."""
    from solbench.bound import cache_report
    from solbench.hardware import load_hardware

    if bound.demand is None or not bound.demand.contractions:
        return None
    return cache_report(bound.demand, load_hardware(hardware))


def _write_files(
    bound: Bound, curves: CacheReport | None, plot: Path | None, cache_plot: Path | None,
    html: Path | None,
) -> None:  # fmt: skip
    from solbench.report import bound_plot, explain_page
    from solbench.report import cache_plot as draw_curves

    if plot is not None:
        _console.write_file(plot, bound_plot(bound, plot.suffix))
    if cache_plot is not None:
        if curves is None:
            raise InputError("there is no contraction to draw", key="--cache-plot")
        title = f"{bound.problem} on {bound.hardware}"
        _console.write_file(cache_plot, draw_curves(curves, title, cache_plot.suffix))
    if html is not None:
        _console.write_file(html, explain_page(bound, curves))
    for written in filter(None, (plot, cache_plot, html)):
        _console.note(f"written: {written}")


def _print(bound: Bound, method: Method, why_not: bool, curves: CacheReport | None) -> None:
    from solbench.report import cache_tables, explain_report, plain_count_table

    _console.out().print(explain_report(bound, why_not=why_not))
    if (plain := _plain(bound, method)) is not None:
        _console.out().print(plain_count_table(bound, plain))
    if curves is not None:
        _console.out().print(cache_tables(curves))


def _plain(bound: Bound, method: Method) -> PlainCount | None:
    from solbench.bound import plain_count

    return plain_count(bound.demand) if method is Method.FUSED_IO and bound.demand else None


def _compare_saved(
    path: Path, compare: str | None, derive: Derive, blobs: list[Path] | None, json_lines: bool
) -> None:
    if compare is None:
        raise InputError("a saved bound can only be compared", file=path, remedy="Give --compare.")
    own = saved_record(path)
    subject: Subject | None = None
    _compare(str(path), own, other_record(compare, own, subject, derive, blobs), json_lines)


def _compare(
    label: str, own: dict[str, Any], other: tuple[str, dict[str, Any]], json_lines: bool
) -> None:
    from solbench.bound import compare_records

    differences = compare_records(own, other[1])
    if json_lines:
        from solbench.cli._lines_bound import ComparedBoundsLine

        _console.emit(ComparedBoundsLine.of(label, other[0], differences))
        return
    from solbench.report import compare_table

    _console.out().print(compare_table(differences, label, other[0]))
