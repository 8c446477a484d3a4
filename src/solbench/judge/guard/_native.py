"""C++, CUDA and PTX text as rules read it: code without comments and literals, and the literals apart."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from solbench.judge.guard._subject import Subject

# Each pattern here is linear in the text: whatever fails to match far ahead must not be tried again from every
# place on the way.
PIECES = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|R"(?P<mark>[^()\s\\]{0,16})\((?:.*?\)(?P=mark)"|.*)|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n]){1,8}'""",
    re.DOTALL,
)
"""A raw string that does not end takes all that follows, as it does for a compiler."""
_OPENS_OR_CLOSES = re.compile(r"[{}]")
_DECLARES = re.compile(r"\b(?:__global__|__device__)\b")


@dataclass(frozen=True)
class NativeFile:
    """One source, or a text within one."""

    path: str
    text: str
    subject: Subject
    first_line: int = 1

    @cached_property
    def code(self) -> str:
        """The text with comments and literals blanked out; places stay."""
        return PIECES.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), self.text)

    @cached_property
    def literals(self) -> tuple[tuple[int, str], ...]:
        """Line and text of every string literal; assembler text is one of these."""
        return tuple(
            (self.line(found.start()), found[0])
            for found in PIECES.finditer(self.text)
            if found[0][0] in '"R'
        )

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line(self, place: int) -> int:
        return bisect_right(self._starts, place) + self.first_line - 1

    def words(self, *names: str) -> Iterator[tuple[int, str]]:
        """Lines on which one of these identifiers stands in the code."""
        pattern = re.compile(rf"\b(?:{'|'.join(names)})\b")
        for found in pattern.finditer(self.code):
            yield self.line(found.start()), found[0]

    def has(self, *names: str) -> bool:
        return next(self.words(*names), None) is not None

    def calls(self, *names: str) -> Iterator[tuple[int, str]]:
        """Calls of plain functions of these names; methods and other namespaces do not count."""
        pattern = re.compile(rf"(?<![\w.>:])(?:::|std::)?(?P<name>{'|'.join(names)})\s*\(")
        for found in pattern.finditer(self.code):
            yield self.line(found.start("name")), found["name"]

    def device_bodies(self) -> Iterator[tuple[int, str]]:
        """Start and text of the bodies of device functions; what lies within one is part of it."""
        code, depth, declared = self.code, 0, 0
        start = None
        """Of the body that we are in, at depth 1."""
        for found in _OPENS_OR_CLOSES.finditer(code):
            if found[0] == "{":
                if start is None and self._is_of_device(declared, found.start()):
                    start, depth = found.end(), 0
                depth += 1
            else:
                depth -= 1
                if start is not None and not depth:
                    yield start, code[start : found.start()]
                    start = None
            declared = found.end()
        if start is not None:
            yield start, code[start:]

    def _is_of_device(self, declared: int, opening: int) -> bool:
        """Whether what stands before an opening brace declares a device function."""
        begin = max(declared, self.code.rfind(";", declared, opening) + 1)
        return _DECLARES.search(self.code, begin, opening) is not None
