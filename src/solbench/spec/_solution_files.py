"""Solutions on disk: one JSON file, or loose sources beside a ``solution.json`` without their text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from solbench.errors import InputError, SpecError
from solbench.spec._document import (
    Document,
    flatten,
    parse_json,
    raise_errors,
    read_text,
    validated,
)
from solbench.spec._solution import Solution, path_problem, shortened
from solbench.spec._writing import write_text

SOLUTION_FILE = "solution.json"


def load_solution(path: Path | str) -> Solution:
    """Load a solution's JSON file, or a folder of loose sources with a ``solution.json``.

    Raises ``SpecError`` (several: ``SpecErrors``) naming file, line, key and remedy.

    >>> solbench.load_solution("examples/rmsnorm/solution_fast.json").name
    'rmsnorm-fast'
    """
    given = Path(path)
    if given.suffix == ".py":
        raise SpecError(
            "is a Python file; a solution is a JSON file, or a folder of loose sources",
            file=given,
            remedy="Put it in a folder with a solution.json that names its entry point "
            "(docs/formats.md has one), and give the folder.",
        )
    return read_solution(given)[1]


def pack(folder: Path | str) -> Solution:
    """The solution whose sources lie loose in ``folder``; write it with ``write_json``.

    ``solution.json`` there has no source texts: its ``sources`` lists paths, or is left out, which
    means every file of the folder in order of its path (hidden ones and ``__pycache__`` apart).
    """
    given = Path(folder)
    if not given.is_dir():
        raise InputError("is no folder", file=given, remedy=f"Name one with a {SOLUTION_FILE}.")
    return load_solution(given)


def unpack(solution: Solution, folder: Path | str) -> None:
    """Write the sources and a ``solution.json`` that lists them; ``pack`` is the reverse.

    A file that exists with other content is left alone: ``InputError``, before anything is written.
    """
    target = Path(folder)
    files = {source.path: source.content for source in solution.sources}
    if SOLUTION_FILE in files:
        raise InputError(
            f"a source is named {SOLUTION_FILE}", file=target, remedy="Rename it before unpacking."
        )
    files[SOLUTION_FILE] = _listing(solution)
    for path, content in files.items():
        _refuse_overwriting(target, path, content)
    for path, content in files.items():
        write_text(target / path, content)


def _listing(solution: Solution) -> str:
    value = solution.model_dump(mode="json", exclude_unset=True)
    value["sources"] = [
        {key: item for key, item in source.items() if key != "content"}
        for source in value["sources"]
    ]
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _refuse_overwriting(target: Path, path: str, content: str) -> None:
    if reason := path_problem(path):
        raise SpecError(f"'{path}' {reason}", key="sources")
    file = target / path
    if not _lies_in(file, target):
        raise InputError("lies behind a link that leaves the folder", file=file)
    if file.exists() and (not file.is_file() or file.read_bytes() != content.encode("utf-8")):
        raise InputError(
            "exists already with other content", file=file, remedy="Unpack into an empty folder."
        )


def read_solution(path: Path) -> tuple[Document, Solution]:
    """A solution with the document it stands in, loose sources filled in."""
    try:
        file = path / SOLUTION_FILE if path.is_dir() else path
    except (OSError, ValueError):
        file = path
    if file != path and not file.exists():
        raise SpecError(
            f"holds no {SOLUTION_FILE}",
            file=path,
            remedy="A solution is one JSON file, or a folder of its sources with a "
            f"{SOLUTION_FILE}; 'solbench new' writes one.",
        )
    document = parse_json(read_text(file), file)
    if isinstance(document.value, dict):
        _fill_in_sources(document)
    return document, validated(Solution, document)


def _fill_in_sources(document: Document) -> None:
    folder = Path(document.file).parent
    sources = document.value.get("sources")
    if sources is None and Path(document.file).name == SOLUTION_FILE:
        sources = _loose_paths(folder)
        if not sources:
            raise document.error((), "no source lies beside it", "Put the source files there.")
    if not isinstance(sources, list):
        return
    errors: list[SpecError] = []
    filled: list[Any] = []
    for index, source in enumerate(sources):
        try:
            filled.append(_with_content(document, folder, index, source))
        except SpecError as error:
            errors += flatten(error)
    if errors:
        raise_errors(errors)
    document.value["sources"] = filled


def _loose_paths(folder: Path) -> list[str]:
    found = []
    for file in folder.rglob("*"):
        parts = file.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if file.is_file() and not hidden and parts != (SOLUTION_FILE,):
            found.append("/".join(parts))
    return sorted(found)


def _lies_in(file: Path, folder: Path) -> bool:
    """Whether ``file``, links followed, is within ``folder``."""
    try:
        return file.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a circle of links
        return False


def _with_content(document: Document, folder: Path, index: int, source: Any) -> Any:
    entry = {"path": source} if isinstance(source, str) else source
    if not isinstance(entry, dict) or "content" in entry or not isinstance(entry.get("path"), str):
        return entry
    path: str = entry["path"]
    key = ("sources", index)
    if reason := path_problem(path):
        raise document.error(
            key, f"'{shortened(path)}' {reason}", "Use a path such as 'src/kernel.py'."
        )
    file = folder / path
    if not _lies_in(file, folder):
        raise document.error(key, f"'{path}' is a link that leaves the folder")
    if not file.is_file():
        raise document.error(
            key, f"'{path}' has no content here and no file beside", "Add the file or its content."
        )
    return {**entry, "content": read_text(file)}
