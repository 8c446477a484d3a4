"""``solbench pack`` and ``unpack``: loose sources to a solution's JSON, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json
from solbench.errors import InputError


@app.command("pack")
def pack_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with solution.json and its sources.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where to write; default: DIR.json beside it."),
    ] = None,
    json_lines: Json = False,
) -> None:
    """Make one solution JSON from a folder of loose sources.

    Exit code 0, or 2 if the folder holds no valid solution.

    Example: solbench pack my_rmsnorm --out my_rmsnorm.json
    """
    from solbench.cli._lines import PackLine
    from solbench.spec import pack, write_json

    solution = pack(folder)
    target = out or folder.resolve().with_suffix(".json")
    write_json(target, solution)
    if json_lines:
        _console.emit(PackLine(solution=solution.name, file=str(target)))
    else:
        _say(solution.name, target)


@app.command("unpack")
def unpack_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A solution's JSON.")],
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to write; default: FILE without .json."),
    ] = None,
    json_lines: Json = False,
) -> None:
    """Write a solution's sources as loose files, with a solution.json that packs them again.

    Exit code 0, or 2 if FILE is no valid solution or DIR holds something already.

    Example: solbench unpack examples/rmsnorm/solution_fast.json --out my_rmsnorm
    """
    from solbench.cli._lines import UnpackLine
    from solbench.spec import load_solution, unpack

    target = folder or file.with_suffix("")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(
            "this already exists and is not an empty folder",
            file=target,
            remedy="Choose another with --out.",
        )
    solution = load_solution(file)
    unpack(solution, target)
    if json_lines:
        _console.emit(UnpackLine(solution=solution.name, folder=str(target)))
    else:
        _say(solution.name, target)


def _say(name: str, target: Path) -> None:
    _console.out().print(f"{name} → {target}", markup=False, soft_wrap=True)
