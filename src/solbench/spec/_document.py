"""Reading JSON files so that every problem comes back with its file, line and key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from solbench.errors import AxisError, SpecError, SpecErrors
from solbench.spec._field_problems import PROBLEMS_CODE, FieldProblem
from solbench.spec._json_positions import KeyPath, Positions, dotted, scan

_Model = TypeVar("_Model", bound=BaseModel)

_DEEPEST = 64
"""Levels of nesting; real files have six."""
_LONE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(slots=True)
class Document:
    """One JSON value of a file, and where its parts stand."""

    file: str
    text: str
    value: Any
    first_line: int = 1
    _positions: Positions | None = field(default=None, repr=False)

    @property
    def positions(self) -> Positions:
        if self._positions is None:
            self._positions = scan(self.text)
        return self._positions

    def line_of(self, path: KeyPath) -> int:
        """Line of the key at ``path``, or of the nearest part around it that exists."""
        while path and path not in self.positions.offsets:
            path = path[:-1]
        return self.line_at(self.positions.offsets[path]) if path else self.first_line

    def line_at(self, offset: int) -> int:
        return self.first_line + self.text.count("\n", 0, offset)

    def error(self, path: KeyPath, what: str, remedy: str | None = None) -> SpecError:
        return SpecError(
            what, file=self.file, line=self.line_of(path), key=dotted(path) or None, remedy=remedy
        )


def raise_errors(errors: Sequence[SpecError]) -> NoReturn:
    """Raise the one error itself, or all of them as one."""
    raise errors[0] if len(errors) == 1 else SpecErrors(errors)


def flatten(error: SpecError) -> tuple[SpecError, ...]:
    """The single errors in it."""
    return error.errors if isinstance(error, SpecErrors) else (error,)


def read_text(path: Path) -> str:
    """Text of a UTF-8 file with its line ends as they are; ``SpecError`` if it cannot be read."""
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecError(f"cannot be read: {reason}", file=path, remedy=None) from None
    if content.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise SpecError(
            "begins with a byte order mark",
            file=path,
            line=1,
            remedy="Save it as UTF-8 without one.",
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(
            f"byte {content[error.start]:#04x} is not UTF-8",
            file=path,
            line=content.count(b"\n", 0, error.start) + 1,
            remedy="Save it as UTF-8.",
        ) from None


def parse_json(text: str, file: Path | str, first_line: int = 1) -> Document:
    """Parse strict JSON: no repeated keys, NaN, Infinity or endless nesting."""
    suspicious = False

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal suspicious
        result = dict(pairs)
        suspicious |= len(result) != len(pairs)
        return result

    def constant(_: str) -> float:
        nonlocal suspicious
        suspicious = True
        return 0.0

    def number(spelling: str) -> float:
        nonlocal suspicious
        value = float(spelling)
        suspicious |= not math.isfinite(value)
        return value

    if not text.strip():
        raise SpecError(
            "is empty", file=file, line=first_line, remedy="A JSON object belongs here."
        )
    try:
        value = json.loads(
            text, object_pairs_hook=members, parse_constant=constant, parse_float=number
        )
    except json.JSONDecodeError as error:
        raise SpecError(
            f"is not JSON: {error.msg} (column {error.colno})",
            file=file,
            line=first_line + error.lineno - 1,
        ) from None
    except RecursionError:
        raise SpecError("is nested too deeply", file=file, line=first_line) from None
    except ValueError:
        raise SpecError("holds a number of too many digits", file=file, line=first_line) from None
    document = Document(str(file), text, value, first_line)
    _refuse_odd(document, suspicious)
    return document


def _refuse_odd(document: Document, suspicious: bool) -> None:
    if _deeper_than(document.value, _DEEPEST):
        raise SpecError(
            f"is nested deeper than {_DEEPEST} levels",
            file=document.file,
            line=document.first_line,
        )
    if _LONE_SURROGATE.search(document.text) and not _encodable(document.value):
        raise SpecError(
            "holds half of a surrogate pair, which is no text",
            file=document.file,
            line=document.first_line,
        )
    if suspicious:
        raise_errors(list(_literal_errors(document)))


def _literal_errors(document: Document) -> Iterator[SpecError]:
    for path, offset in document.positions.repeated_keys:
        yield SpecError(
            "the key stands twice in its object",
            file=document.file,
            line=document.line_at(offset),
            key=dotted(path),
            remedy="Keep one of them.",
        )
    for path, offset, spelling in document.positions.not_finite:
        yield SpecError(
            f"{spelling} is not a finite number",
            file=document.file,
            line=document.line_at(offset),
            key=dotted(path) or None,
            remedy="Use a finite number, or null where one may be absent.",
        )


def _deeper_than(value: Any, levels: int) -> bool:
    containers = [value]
    for _ in range(levels):
        containers = [
            child
            for parent in containers
            if isinstance(parent, (dict, list))
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
    return bool(containers)


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def json_lines(path: Path) -> Iterator[Document | SpecError]:
    """Each non-blank line of a JSONL file, parsed, or what is wrong with it."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            try:
                yield parse_json(line, path, number)
            except SpecError as error:
                yield error


def validated(model: type[_Model], document: Document) -> _Model:
    """``document`` as a ``model``; strict about types; all problems in one pass."""
    try:
        return model.model_validate_json(json.dumps(document.value), strict=True)
    except ValidationError as error:
        details = _causes(error.errors(include_url=False, include_input=False))
    raise_errors([found for detail in details for found in _explained(detail, document)])


def read_json_text(model: type[_Model], text: str, name: str) -> _Model:
    """JSON text as a ``model``; errors call it ``name`` and say line and key. Raises ``SpecError``."""
    return validated(model, parse_json(text, name))


def _causes(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Without lists called empty only because an item of theirs is wrong."""
    places = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(place[: len(detail["loc"])] == detail["loc"] != place for place in places)
    ]


def _explained(detail: ErrorDetails, document: Document) -> Iterator[SpecError]:
    path = _path_in(document.value, detail["loc"], detail["type"] == "missing")
    if detail["type"] == PROBLEMS_CODE:
        problems: tuple[FieldProblem, ...] = detail["ctx"]["problems"]
        for problem in problems:
            place = path + problem.path
            kind = AxisError if problem.of_axis else SpecError
            yield kind(
                problem.what,
                file=document.file,
                line=document.line_of(place),
                key=dotted(place) or None,
                remedy=problem.remedy,
            )
        return
    if detail["type"] == "missing":
        yield document.error(path, "is missing", "Add it.")
    elif detail["type"] == "too_short" and detail["ctx"]["actual_length"] == 0:
        yield document.error(path, "is empty", f"It needs {detail['ctx']['min_length']} at least.")
    elif detail["type"] == "model_type":
        yield document.error(path, "should be a JSON object")
    else:
        yield document.error(path, _plain(detail["msg"]))


def _plain(message: str) -> str:
    """Pydantic's message without its opening word, to read on after a key."""
    text = message.removeprefix("Input ")
    return text[:1].lower() + text[1:]


def _path_in(value: Any, location: tuple[str | int, ...], missing: bool) -> KeyPath:
    """Pydantic's location without the tags of unions, which are no keys of the file."""
    path: KeyPath = ()
    for position, part in enumerate(location):
        in_object = isinstance(value, dict) and part in value
        if in_object or (isinstance(value, list) and isinstance(part, int) and part < len(value)):
            value = value[part]
        elif not (missing and position == len(location) - 1):
            continue
        path = (*path, part)
    return path


def unknown_keys(model: BaseModel, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Paths of the keys that a model kept without knowing them."""
    for key in model.model_extra or {}:
        yield (*path, key)
    for name in type(model).model_fields:
        yield from _unknown_below(getattr(model, name), (*path, name))


def _unknown_below(value: Any, path: KeyPath) -> Iterator[KeyPath]:
    if isinstance(value, BaseModel):
        yield from unknown_keys(value, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown_below(item, (*path, key))
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _unknown_below(item, (*path, index))
