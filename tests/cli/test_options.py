"""Every option names itself: older versions of the library do not derive ``--device`` from ``device``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import solbench

COMMANDS = Path(solbench.__file__).parent / "cli"


def unnamed_options(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.Option":
            first = node.args[0] if node.args else None
            if not (isinstance(first, ast.Constant) and str(first.value).startswith("--")):
                yield f"{file.name}:{node.lineno}"


def test_every_option_names_itself() -> None:
    files = sorted(COMMANDS.glob("*.py"))
    assert len(files) > 10
    assert [place for file in files for place in unnamed_options(file)] == []
