"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from solbench.cli import _console
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.spec import Problem, Solution, Workload

ProblemPath = Annotated[
    Path,
    typer.Argument(metavar="PROBLEM", help="A problem folder, its definition.json, or suite:NAME."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON lines on stdout and nothing else there.")]
Hardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="NAME",
        help="Hardware file to price on (see 'solbench hardware'); default: detected.",
    ),
]
Workloads = Annotated[
    list[str] | None,
    typer.Option(
        "--workload",
        metavar="UUID",
        help="Only this workload; an unambiguous beginning will do. May be repeated.",
    ),
]
WorkloadsFile = Annotated[
    Path | None,
    typer.Option(
        "--workloads-file",
        metavar="FILE",
        help="Workloads in place of workload.jsonl: a file of the problem folder, or a path.",
    ),
]
DeviceName = Annotated[
    str,
    typer.Option("--device", metavar="DEVICE", help="Where to run: cpu, or cuda:0 and so on."),
]


class ModeName(StrEnum):
    """How long is measured."""

    REWARD = "reward"
    RANK = "rank"


RunMode = Annotated[
    ModeName,
    typer.Option(
        "--mode",
        metavar="reward|rank",
        help="reward: quick, for iteration; rank: longer, for records.",
    ),
]
OneWorkload = Annotated[
    str | None,
    typer.Option("--workload", metavar="UUID", help="Which workload; default: the first."),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="Also append the records to this JSONL file."),
]
Blobs = Annotated[
    list[Path] | None,
    typer.Option(
        "--blobs",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Folder in which safetensors inputs are looked up too. May be repeated.",
    ),
]


Rules = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Folder of operator rules of your own; they run with your rights. May be repeated.",
    ),
]


def load_user_rules(folders: list[Path] | None) -> None:
    """Load rules that the user names; nothing is imported if there are none."""
    if not folders:
        return
    from solbench.bound import load_rules

    for folder in folders:
        load_rules(folder)


class PrecisionChoice(StrEnum):
    """How products are priced."""

    AUTO = "auto"
    ADMITTED = "admitted"
    DECLARED = "declared"


Precision = Annotated[
    PrecisionChoice,
    typer.Option(
        "--precision",
        metavar="auto|admitted|declared",
        help="auto: at the fastest class that the problem's gate lets through; admitted: the same, "
        "and no bound where that cannot be tried; declared: at the operands' own class.",
    ),
]


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter("a clock is a finite number of MHz")
    return value


Clock = Annotated[
    float | None,
    typer.Option(
        "--clock",
        metavar="MHZ",
        min=1,
        callback=_finite,
        help="Core clock; default: the highest it can reach.",
    ),
]


def read_problem(path: Path, workloads_file: Path | None, blobs: list[Path] | None) -> Problem:
    """The problem with the workloads of a file, its warnings told; ``suite:NAME`` is one of the suite's."""
    from solbench.cli._problems import open_problem

    problem = open_problem(path, blobs, workloads_file)
    for warning in problem.warnings:
        _console.note(f"note: {warning}")
    return problem


def read_solution(problem: Problem, path: Path | None) -> Solution:
    """A solution of the problem; the problem's own reference for ``None``."""
    from solbench.spec import load_solution

    if path is None:
        from solbench.judge import reference_solution

        return reference_solution(problem)
    solution = load_solution(path)
    if solution.definition != problem.name:
        raise InputError(
            f"this solution is for '{solution.definition}', the problem is '{problem.name}'",
            file=path,
            key="definition",
        )
    return solution


def select_workloads(problem: Problem, wanted: list[str] | None) -> tuple[Workload, ...]:
    """The workloads whose uuid is, or alone begins with, each of ``wanted``; all if none is named."""
    if not wanted:
        return problem.workloads
    chosen = {each.uuid: each for each in (_find_workload(problem, name) for name in wanted)}
    return tuple(chosen.values())


def _find_workload(problem: Problem, name: str) -> Workload:
    exact = [each for each in problem.workloads if each.uuid == name]
    matches = exact or [each for each in problem.workloads if each.uuid.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    known = ", ".join(each.uuid for each in (matches or problem.workloads)[:8])
    raise InputError(
        "no workload begins so" if not matches else "several workloads begin so",
        file=problem.folder,
        key=f"--workload {name}",
        remedy=f"It has: {known}.",
    )
