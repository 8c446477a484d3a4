"""``solbench new``: a starting solution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from solbench.cli import _console
from solbench.cli._app import app
from solbench.cli._options import Json, ProblemPath
from solbench.errors import InputError


@app.command("new")
def new_command(
    problem_path: ProblemPath,
    language: Annotated[
        str,
        typer.Option(
            "--language", metavar="NAME", help="pytorch, triton, cuda_cpp, cpp and others."
        ),
    ] = "pytorch",
    binding: Annotated[
        str | None,
        typer.Option(
            "--binding",
            metavar="c|tvm_ffi|torch",
            help="How a compiled solution is entered; default: c, which builds in seconds.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Folder to write; default: PROBLEM_LANGUAGE here."
        ),
    ] = None,
    json_lines: Json = False,
) -> None:
    """Write a starting solution: it has the right signature, builds, runs, and gives zeros.

    What it writes evaluates to INCORRECT_NUMERICAL until it is filled in. Exit code 0, or 2 for a language
    that is not known or a folder that holds something already.

    Example: solbench new examples/rmsnorm --language triton --out my_rmsnorm
    """
    from solbench.cli._problems import open_problem
    from solbench.spec import unpack
    from solbench.starter import starting_solution

    solution = starting_solution(open_problem(problem_path).definition, language, binding)
    folder = out or Path(solution.name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            "this already exists and is not an empty folder",
            file=folder,
            remedy="Choose another with --out.",
        )
    unpack(solution, folder)
    if json_lines:
        from solbench.cli._lines import NewLine

        files = tuple(source.path for source in solution.sources)
        _console.emit(NewLine(solution=solution.name, folder=str(folder), sources=files))
    else:
        say = _console.out()
        say.print(f"{folder}/{solution.spec.entry_file}", markup=False, soft_wrap=True)
        say.print(
            f"next: solbench eval {problem_path} --solution {folder}", markup=False, soft_wrap=True
        )
