"""What ``explain`` derives: the program at a path, the bound to compare with, and the record of a bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solbench.cli import _console
from solbench.cli._options import select_workloads
from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.bound import Bound, Program
    from solbench.spec import Problem

    Subject = tuple[Problem | Program, str | None]
    Derive = Callable[[Problem | Program, str | None, str | None], Bound]
    """(program, workload, hardware or that of the command) → bound."""


def program_at(path: Path, workload: str | None, blobs: list[Path] | None) -> Subject:
    """A problem and the chosen workload's uuid, or a module and nothing."""
    from solbench.bound import module_program
    from solbench.cli._problems import open_problem

    if path.suffix == ".py":
        if workload is not None:
            raise InputError("a module has no workloads", file=path, key="--workload")
        if not path.is_file():
            raise InputError("no such file", file=path, remedy="Name a problem folder or a module.")
        return module_program(path), None
    problem = open_problem(path, blobs)
    chosen = select_workloads(problem, None if workload is None else [workload])[0]
    if workload is None and len(problem.workloads) > 1:
        _console.note(f"note: the first of {len(problem.workloads)} workloads; see --workload")
    return problem, chosen.uuid


def is_record_file(path: Path) -> bool:
    """Whether a path names saved bounds rather than a program."""
    return path.suffix in (".json", ".jsonl") and path.name != "definition.json"


def saved_record(path: Path, like: dict[str, Any] | None = None) -> dict[str, Any]:
    """The last bound in a file of records; of the problem and workload of ``like`` if it holds one."""
    if not path.is_file():
        raise InputError("no such file", file=path)
    text = path.read_text(encoding="utf-8").strip()
    found = [record for line in _documents(text) if "t_sol_ms" in (record := _parsed(line, path))]
    if not found:
        raise InputError(
            "holds no bound", file=path, remedy="Write one with 'solbench explain PATH --json'."
        )
    keys = ("problem", "workload")
    same = [r for r in found if like and all(r.get(k) == like.get(k) for k in keys)]
    return (same or found)[-1]


def _documents(text: str) -> list[str]:
    """One JSON object, or one a line."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines if all(line.lstrip().startswith("{") for line in lines) else [text]


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"is not JSON: {error.msg}", file=path, line=error.lineno) from error
    if not isinstance(record, dict):
        raise InputError("is not a JSON object", file=path)
    return record


def other_record(
    what: str,
    own: dict[str, Any],
    subject: Subject | None,
    derive: Derive,
    blobs: list[Path] | None,
) -> tuple[str, dict[str, Any]]:
    """(label, record) of a saved bound, another program, another device, or another workload."""
    from solbench.hardware import known_hardware

    path = Path(what)
    if is_record_file(path):
        return what, saved_record(path, own)
    if path.suffix != ".toml" and path.exists():
        return what, explained_record(derive(*program_at(path, None, blobs), None))
    if subject is None:
        raise InputError("a saved bound has no program to derive again", key="--compare")
    program, uuid = subject
    if what in known_hardware() or path.suffix == ".toml":
        return what, explained_record(derive(program, uuid, what))
    workloads = () if uuid is None else program.workloads  # type: ignore[union-attr]
    if not any(each.uuid.startswith(what) for each in workloads):
        raise InputError(
            f"'{what}' is no path, no hardware, and no workload of this problem",
            key="--compare",
            remedy=f"Known hardware: {', '.join(known_hardware())}.",
        )
    chosen = select_workloads(program, [what])[0].uuid  # type: ignore[arg-type]
    return f"workload {chosen}", explained_record(derive(program, chosen, None))


def explained_record(bound: Bound) -> dict[str, Any]:
    """The record that ``solbench explain --json`` prints."""
    from solbench.cli._lines_bound import ExplainLine

    return _console.plain(ExplainLine.explained(bound))
