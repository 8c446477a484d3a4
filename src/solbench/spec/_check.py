"""Checking files without running anything in them: all that is wrong, in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from solbench.errors import SpecError
from solbench.spec._blobs import find_blob
from solbench.spec._check_solution import solution_errors, solution_warnings
from solbench.spec._definition import Definition
from solbench.spec._document import Document, flatten, json_lines, parse_json, read_text
from solbench.spec._problem import environment_roots, make_problem
from solbench.spec._problem_files import (
    DEFINITION_FILE,
    WORKLOAD_FILE,
    definition_warnings,
    mismatch_warnings,
    read_definition,
    read_workloads,
    reference_errors,
    workload_errors,
    workload_warnings,
)
from solbench.spec._solution_files import read_solution
from solbench.spec._traces import read_trace_lines
from solbench.spec._workload import SafetensorsInput, Workload

Kind = Literal["definition", "workload", "solution", "trace"]
Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    severity: Severity
    """``error``: something cannot be used. ``warning``: it can, but look."""
    file: str | None
    line: int | None
    key: str | None
    what: str
    remedy: str | None

    def __str__(self) -> str:
        error = SpecError(
            self.what, file=self.file, line=self.line, key=self.key, remedy=self.remedy
        )
        return f"{self.severity}: {error}"


def check(path: Path | str, blob_roots: Sequence[Path | str] = ()) -> list[Finding]:
    """Check a problem folder, one file of any of the four kinds, or a tree that holds them.

    An empty list means that nothing is wrong. Nothing in the files is executed. ``blob_roots``: as for
    ``load_problem``.

    >>> solbench.check("examples/rmsnorm")
    []
    >>> print(solbench.check("examples/nothing")[0].what)
    cannot be read: No such file or directory
    """
    given = Path(path)
    roots = (*(Path(root) for root in blob_roots), *environment_roots())
    try:
        if given.is_dir():
            return list(_folder(given, None, roots)) if _holds_any(given) else [_nothing_in(given)]
    except (OSError, ValueError):
        pass  # reading it as a file reports why
    return list(_file(given, _definition_around(given.parent), roots, asked_for=True))


def _holds_any(folder: Path) -> bool:
    return any(file.suffix in (".json", ".jsonl") for file in folder.rglob("*"))


def _nothing_in(folder: Path) -> Finding:
    remedy = "A problem folder has a definition.json and a workload.jsonl."
    return Finding("error", str(folder), None, None, "holds no file to check", remedy)


def _found(severity: Severity, errors: Iterable[SpecError]) -> Iterator[Finding]:
    for group in errors:
        for error in flatten(group):
            yield Finding(severity, error.file, error.line, error.key, error.what, error.remedy)


def _folder(folder: Path, around: Definition | None, roots: tuple[Path, ...]) -> Iterator[Finding]:
    """Everything below ``folder``; solutions are compared with the nearest definition above them."""
    definition_file = folder / DEFINITION_FILE
    definition = around
    if definition_file.is_file():
        yield from _definition(definition_file)
        definition = _definition_around(folder)
        if not (folder / WORKLOAD_FILE).is_file():
            missing = SpecError("is missing", file=folder / WORKLOAD_FILE)
            yield from _found("error", [missing])
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        unreadable = SpecError(f"cannot be read: {error.strerror}", file=folder)
        yield from _found("error", [unreadable])
        return
    for entry in entries:
        if entry.name.startswith(".") or entry.name == "__pycache__":
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _folder(entry, definition, roots)
        elif entry.suffix in (".json", ".jsonl") and entry != definition_file:
            yield from _file(entry, definition, roots, asked_for=False)


def _definition_around(folder: Path) -> Definition | None:
    """The definition in ``folder`` or the nearest folder above it, where there is a sound one."""
    for place in (folder, *folder.resolve().parents[:2]):
        file = place / DEFINITION_FILE
        try:
            if file.is_file():
                return read_definition(file)[1]
        except (SpecError, OSError, ValueError):
            return None
    return None


def _file(
    file: Path, definition: Definition | None, roots: tuple[Path, ...], *, asked_for: bool
) -> Iterator[Finding]:
    try:
        kind = _kind(file)
    except SpecError as error:
        yield from _found("error", [error])
        return
    if kind == "definition":
        yield from _definition(file)
    elif kind == "workload":
        yield from _workloads(file, definition, roots)
    elif kind == "solution":
        yield from _solution(file, definition)
    elif kind == "trace":
        yield from _found("error", read_trace_lines(file)[1])
    elif asked_for:
        unknown = SpecError(
            "is none of: definition, workload lines, solution, trace lines",
            file=file,
            remedy="Their keys are described by 'solbench schema'.",
        )
        yield from _found("error", [unknown])


def _kind(file: Path) -> Kind | None:
    """By name where the name says it, else by the keys of the (first) object."""
    if file.name == DEFINITION_FILE:
        return "definition"
    if file.suffix == ".jsonl":
        if file.name.startswith("workload"):
            return "workload"
        first = next((line for line in json_lines(file)), None)
        value = first.value if isinstance(first, Document) else None
        return _kind_of_keys(value, trace="trace", workload="workload")
    if file.name.startswith("solution"):
        return "solution"
    return _kind_of_keys(parse_json(read_text(file), file).value, trace=None, workload=None)


def _kind_of_keys(value: object, *, trace: Kind | None, workload: Kind | None) -> Kind | None:
    if not isinstance(value, dict):
        return None
    if "evaluation" in value:
        return trace
    if "uuid" in value:
        return workload
    if "reference" in value or {"axes", "outputs"} <= value.keys():
        return "definition"
    if "spec" in value or "sources" in value:
        return "solution"
    return None


def _definition(file: Path) -> Iterator[Finding]:
    try:
        document, definition = read_definition(file)
        yield from _found("error", reference_errors(document, definition))
        yield from _found("warning", definition_warnings(document, definition))
    except SpecError as error:
        yield from _found("error", [error])


def _workloads(
    file: Path, definition: Definition | None, roots: tuple[Path, ...]
) -> Iterator[Finding]:
    try:
        lines, errors = read_workloads(file)
    except SpecError as error:
        lines, errors = [], [error]
    yield from _found("error", errors)
    yield from _found("warning", workload_warnings(lines))
    if definition is None:
        return
    for line, workload in lines:
        yield from _found("error", workload_errors(definition, line, workload))
        yield from _found("warning", mismatch_warnings(definition, line, workload))
        yield from _found("warning", _missing_blobs(file, definition, roots, line, workload))


def _missing_blobs(
    file: Path,
    definition: Definition,
    roots: tuple[Path, ...],
    line: Document,
    workload: Workload,
) -> Iterator[SpecError]:
    problem = make_problem(definition, [workload], folder=file.parent, blob_roots=roots)
    for name, descriptor in workload.inputs.items():
        if isinstance(descriptor, SafetensorsInput):
            try:
                find_blob(problem, descriptor.path)
            except SpecError as error:
                yield line.error(("inputs", name, "path"), error.what, error.remedy)


def _solution(file: Path, definition: Definition | None) -> Iterator[Finding]:
    try:
        document, solution = read_solution(file)
    except SpecError as error:
        yield from _found("error", [error])
        return
    yield from _found("error", solution_errors(document, solution, definition))
    yield from _found("warning", solution_warnings(document, solution))
