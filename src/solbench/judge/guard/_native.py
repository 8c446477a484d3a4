"""C++, CUDA and PTX text as rules read it: code without comments and literals, and the literals apart."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from solbench.judge.guard._subject import Subject

PIECES = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n]){1,8}'""",
    re.DOTALL,
)
_BODY = re.compile(r"\b(?P<kind>__global__|__device__)\b[^;{}]*\{")


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
        """Start and text of the bodies of device functions."""
        for found in _BODY.finditer(self.code):
            yield found.end(), _to_closing(self.code, found.end())


def _to_closing(code: str, start: int) -> str:
    depth = 1
    for found in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return code[start : found.start()]
    return code[start:]
