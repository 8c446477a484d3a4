"""Where output goes: data and tables on stdout, everything else on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from solbench.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import TypeAdapter

    from solbench.cli._lines import Line


class ExitCode(IntEnum):
    """What the process returns; `docs/cli.md` explains them to users."""

    OK = 0
    NO = 1
    """The command worked and the answer is no: not passed, not valid, not complete."""
    USAGE = 2
    """Bad arguments or bad input files."""
    ENVIRONMENT = 3
    """A device, a jail layer, a compiler or an optional package is missing."""
    INTERNAL = 4
    """A bug of ours."""
    INTERRUPTED = 130


_LEAST_COLUMNS = 80
"""Our tables fit these; in fewer they would lose columns, so a narrower terminal breaks their lines itself."""


def out() -> Console:
    """Console for results. Made anew each time, so that it follows a redirected stdout."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=False)
    console.width = max(console.width, _LEAST_COLUMNS)
    return console


def err() -> Console:
    """Console for progress, notes and errors."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=False)


def json_line(record: dict[str, Any]) -> str:
    """One line of strict JSON: a NaN is an error, not a literal."""
    from solbench.spec import json_line as strict

    return strict(record)


def plain(record: Line | DataclassInstance) -> dict[str, Any]:
    """A record as JSON has it: paths as text, tuples as lists."""
    from solbench.cli._lines import Line

    if isinstance(record, Line):
        return record.model_dump(mode="json", by_alias=True, exclude_unset=record.sparse)
    found: dict[str, Any] = _adapter(type(record)).dump_python(record, mode="json")
    return found


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    """Made once a type: that takes longer than a record does."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def emit(record: Line | DataclassInstance) -> None:
    """Write one record as a line of JSON on stdout. What its type is, ``solbench schema`` prints."""
    emit_text(json_line(plain(record)))


def emit_text(line: str) -> None:
    """Write a line that is a record already."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def speak_any_locale() -> None:
    """What a terminal's encoding has no sign for becomes ``?``, and no error. Records are UTF-8 anyway."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def require_folder(file: Path | None, key: str) -> None:
    """Raise ``InputError`` where a result could not be written, before it has taken minutes to make."""
    if file is None:
        return
    if file.is_dir():
        raise InputError("is a folder", file=file, key=key, remedy="Name a file.")
    if not file.parent.is_dir():
        raise InputError(
            f"there is no folder '{file.parent}'",
            key=key,
            remedy="Make it first, or name another place.",
        )


def write_file(path: Path, contents: str | bytes) -> None:
    """Write a whole file, text as UTF-8. The ``OSError`` of a full disk names the file, as others do."""
    data = contents.encode("utf-8") if isinstance(contents, str) else contents
    try:
        path.write_bytes(data)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def abandon_stdout() -> None:
    """What cannot be written to stdout is dropped, so that the interpreter does not try again as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


@contextmanager
def records_only() -> Iterator[None]:
    """Stdout for records alone: what references write to the descriptor itself goes to stderr."""
    stdout = sys.stdout
    try:
        is_descriptor = stdout.fileno() == 1
    except (OSError, ValueError, AttributeError):
        is_descriptor = False
    if not is_descriptor:
        yield
        return
    stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(os.dup(saved), "w", encoding="utf-8") as stream:
        sys.stdout = stream
        try:
            yield
        finally:
            sys.stdout = stdout
            os.dup2(saved, 1)
            os.close(saved)


def note(message: str) -> None:
    """One line on stderr for the person who watches."""
    err().print(message, markup=False, style="dim")


class Progress:
    """Counts finished items; the no-op of a run that nobody watches."""

    def advance(self, label: str = "") -> None:
        """One more item is done; ``label`` names it."""


class _RichProgress(Progress):
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task

    def advance(self, label: str = "") -> None:
        self._bar.update(self._task, advance=1, label=label)


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Progress]:
    """A bar on stderr that vanishes when done; nothing at all when stderr is no terminal."""
    console = err()
    if not console.is_terminal:
        yield Progress()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as RichBar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[label]}", style="dim"),
    )
    with RichBar(*columns, console=console, transient=True) as bar:
        yield _RichProgress(bar, bar.add_task(title, total=total, label=""))
