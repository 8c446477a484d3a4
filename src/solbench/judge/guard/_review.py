"""All rules over one solution."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import islice

from solbench.errors import SpecError
from solbench.judge.guard._finding import Finding
from solbench.judge.guard._native import NativeFile
from solbench.judge.guard._python import PythonFile
from solbench.judge.guard._registry import native_rules, python_rules, subject_rules
from solbench.judge.guard._subject import Subject
from solbench.spec import Definition, Solution, parse_python

MOST_FINDINGS = 50
_MOST_OF_ONE_RULE = 5
"""In one file: the sixth place tells a reader nothing new."""
_MOST_CHARACTERS = 1 << 20
_MOST_NODES = 200_000
_MOST_WITHIN = 20
"""Native texts in strings of one Python file: every rule reads each."""
_EXCERPT = 120
_PYTHON_ENDINGS = (".py", ".pyi")
_NATIVE_ENDINGS = (".cpp", ".cc", ".cxx", ".c", ".cu", ".cuh", ".h", ".hpp", ".ptx", ".inl")
_NATIVE_MARKS = (
    "#include",
    "__global__",
    ".visible .entry",
    'extern "C"',
    "asm volatile",
    ".version",
)
_ORDER = {"alarm": 0, "warning": 1, "note": 2}


def review(solution: Solution, definition: Definition | None = None) -> tuple[Finding, ...]:
    """What the rules say about a solution's sources, gravest first; nothing is run.

    ``definition``: the problem's; without it rules that ask what is an output, or which precision is declared,
    are silent. Whatever the sources hold, this returns.
    """
    subject = Subject(solution, definition)
    found = sorted(
        _findings(subject), key=lambda each: (_ORDER[each.severity], each.file, each.line)
    )
    return tuple(found[:MOST_FINDINGS])


def is_suspicious(findings: Sequence[Finding]) -> bool:
    """Whether there is a warning or an alarm."""
    return any(each.severity != "note" for each in findings)


def _findings(subject: Subject) -> Iterator[Finding]:
    for rule in subject_rules():
        for path, line, message in islice(rule.look(subject), _MOST_OF_ONE_RULE):
            yield Finding(rule.id, rule.severity, path, line, message)
    for source in subject.solution.sources:
        path, text = source.path, source.content
        if len(text) > _MOST_CHARACTERS:
            yield Finding("unread", "warning", path, 0, f"{len(text)} characters: not read")
        elif path.endswith(_PYTHON_ENDINGS):
            yield from _of_python(path, text, subject)
        elif path.endswith(_NATIVE_ENDINGS):
            yield from _of_native(NativeFile(path, text, subject), text)


def _of_python(path: str, text: str, subject: Subject) -> Iterator[Finding]:
    tree = _parsed(text)
    if isinstance(tree, str):
        yield Finding("unread", "warning", path, 0, tree)
        return
    nodes = tuple(islice(ast.walk(tree), _MOST_NODES + 1))
    if len(nodes) > _MOST_NODES:
        yield Finding("unread", "warning", path, 0, f"more than {_MOST_NODES} nodes: not read")
        return
    file = PythonFile(path, text, tree, subject, nodes)
    lines = text.splitlines()
    for rule in python_rules():
        for line, message in islice(rule.look(file), _MOST_OF_ONE_RULE):
            yield Finding(rule.id, rule.severity, path, line, message, _excerpt(lines, line))
    within = (
        NativeFile(path, inner, subject, line)
        for line, inner in file.strings
        if any(mark in inner for mark in _NATIVE_MARKS)
    )
    for native in islice(within, _MOST_WITHIN):
        yield from _of_native(native, text)


def _parsed(text: str) -> ast.Module | str:
    """The tree, or why there is none."""
    try:
        return parse_python(text)
    except SpecError as error:
        return error.what[:_EXCERPT]


def _of_native(file: NativeFile, whole: str) -> Iterator[Finding]:
    lines = whole.splitlines()
    for rule in native_rules():
        for line, message in islice(rule.look(file), _MOST_OF_ONE_RULE):
            excerpt = _excerpt(lines, line)
            yield Finding(rule.id, rule.severity, file.path, line, message, excerpt)


def _excerpt(lines: list[str], line: int) -> str:
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    shown = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)
