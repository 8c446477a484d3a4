"""The first line of an exception's story: where in the solution, and what.

Compilers of Python code name the place in their message rather than in the traceback, each in its own way. Runs
beside untrusted code and reads its exceptions: what it says is a hint for the author, nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from traceback import extract_tb

_LENGTH = 400
_PLACE = re.compile(r'File "([^"]+)", line (\d+)')
_USER_CODE = "from user code:"
"""torch.compile: the stack of the user's code follows, innermost last."""
_TRITON = re.compile(r"\Aat (?P<line>\d+):\d+:\n(?P<first>def .*)\n")
"""Triton counts lines from the function's ``def``, which it quotes unless the function is long."""
_SUMMARIES = (
    re.compile(r"\AFailed in .*\n(?P<what>.+)"),  # Numba: the first line names a stage
    re.compile(r"\Aat \d+:\d+:\n(?:.*\n)*?\s*\^\n(?P<what>.+)"),  # Triton
    re.compile(r"\A(?P<what>.+\n\s+Explanation: .+)"),  # torch.compile
    re.compile(r"\A\s*(?P<what>.+)"),
)


def headline(error: BaseException, folder: Path) -> str:
    """``file:line: Type: message`` in one line; without a place if ``folder`` holds none that is named."""
    chain = list(_chain(error))
    root = next((each for each in reversed(chain) if _frames(each, folder)), error)
    place = _place_in_message(str(error), folder) or next(iter(_frames(root, folder)), "")
    kind = type(root).__name__
    return f"{place}: {kind}: {_summary(str(root))}" if place else f"{kind}: {_summary(str(root))}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and its explicit causes, at most ten: a chain may be a ring."""
    current: BaseException | None = error
    for _ in range(10):
        if current is None:
            return
        yield current
        current = current.__cause__


def _frames(error: BaseException, folder: Path) -> list[str]:
    """Places of the traceback that lie in the solution, innermost first."""
    frames = reversed(extract_tb(error.__traceback__))
    return [f"{name}:{frame.lineno}" for frame in frames if (name := _own(frame.filename, folder))]


def _own(file: str, folder: Path) -> str:
    """The file's name in the solution; empty if it lies elsewhere. Numba shortens paths to two parts."""
    path = Path(file)
    if path.is_relative_to(folder):
        return str(path.relative_to(folder))
    inside = [part for part in path.parts if part != ".."]
    if folder.name in inside:
        name = Path(*inside[inside.index(folder.name) + 1 :])
        return str(name) if (folder / name).is_file() else ""
    return ""


def _place_in_message(text: str, folder: Path) -> str:
    triton = _TRITON.match(text)
    if triton:
        return _line_of(triton["first"], int(triton["line"]) - 1, folder)
    _, from_user, stack = text.partition(_USER_CODE)
    named = _PLACE.findall(stack if from_user else text)
    places = [f"{name}:{line}" for file, line in named if (name := _own(file, folder))]
    return (places[-1] if from_user else places[0]) if places else ""


def _line_of(definition: str, offset: int, folder: Path) -> str:
    """The place ``offset`` lines below a quoted line, if one file has it."""
    for file in sorted(folder.rglob("*.py")):
        lines = [line.strip() for line in file.read_text("utf-8", "replace").splitlines()]
        if definition.strip() in lines:
            number = lines.index(definition.strip()) + 1 + offset
            return f"{file.relative_to(folder)}:{number}"
    return ""


def _summary(text: str) -> str:
    found = next((match for each in _SUMMARIES if (match := each.match(text))), None)
    return " ".join(found["what"].split())[:_LENGTH] if found else "no message"
