"""A problem file on disk: its declaration, executed without torch, and the text of its reference.

The file is an ordinary module. Its declaration imports only from ``solbench``; the reference begins with the
first other import and goes to the end of the file, exported as it stands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from solbench.errors import InputError
from solbench.suite._form import Problem


@dataclass(frozen=True, slots=True)
class ProblemSource:
    """One declared problem with the text of its reference."""

    problem: Problem
    reference: str
    docstring: str
    file: Path

    @property
    def name(self) -> str:
        return self.problem.name


def read_problem_file(file: Path) -> tuple[ProblemSource, ...]:
    """The problems of one file (``PROBLEM``, or the family ``PROBLEMS``); ``InputError`` says what is wrong."""
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text, str(file))
    start = _reference_start(tree)
    if start is None:
        raise InputError(
            "has no reference", file=file, remedy="Put 'import torch' and 'run' below PROBLEM."
        )
    lines = text.splitlines(keepends=True)
    declared = _executed("".join(lines[: start - 1]), file)
    reference = "".join(lines[start - 1 :])
    docstring = ast.get_docstring(tree) or ""
    return tuple(ProblemSource(problem, reference, docstring, file) for problem in declared)


def _reference_start(tree: ast.Module) -> int | None:
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and not _is_ours(node):
            return node.lineno
    return None


def _is_ours(node: ast.Import | ast.ImportFrom) -> bool:
    names = (
        [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
    )
    return all(name.split(".")[0] in ("solbench", "__future__") for name in names)


def _executed(declaration: str, file: Path) -> Iterator[Problem]:
    namespace: dict[str, object] = {"__name__": f"solbench.suite.{file.parent.name}.{file.stem}"}
    exec(compile(declaration, str(file), "exec", dont_inherit=True), namespace)
    found = namespace.get("PROBLEMS", (namespace.get("PROBLEM"),))
    for problem in found if isinstance(found, tuple | list) else (found,):
        if not isinstance(problem, Problem):
            raise InputError(
                "declares no problem", file=file, remedy="Assign a Problem to PROBLEM or PROBLEMS."
            )
        yield problem
