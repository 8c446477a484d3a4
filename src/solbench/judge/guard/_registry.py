"""Rules register themselves; a rule is a function from what it reads to what it saw."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from solbench.judge.guard._finding import Severity

if TYPE_CHECKING:
    from solbench.judge.guard._native import NativeFile
    from solbench.judge.guard._python import PythonFile
    from solbench.judge.guard._subject import Subject

Hit = tuple[int, str]
"""Line and message."""
SubjectHit = tuple[str, int, str]
"""File, line and message."""

_Read = TypeVar("_Read")
_Seen = TypeVar("_Seen")


@dataclass(frozen=True, slots=True)
class Rule(Generic[_Read, _Seen]):
    """One rule: its id, how grave it is, what it looks for, and the function that looks."""

    id: str
    severity: Severity
    about: str
    """First line of the function's docstring."""
    look: Callable[[_Read], Iterator[_Seen]]


PythonRule = Rule["PythonFile", Hit]
NativeRule = Rule["NativeFile", Hit]
SubjectRule = Rule["Subject", SubjectHit]

_PYTHON: list[PythonRule] = []
_NATIVE: list[NativeRule] = []
_SUBJECT: list[SubjectRule] = []


def _register(
    into: list[Rule[_Read, _Seen]], rule_id: str, severity: Severity
) -> Callable[[Callable[[_Read], Iterator[_Seen]]], Callable[[_Read], Iterator[_Seen]]]:
    def register(look: Callable[[_Read], Iterator[_Seen]]) -> Callable[[_Read], Iterator[_Seen]]:
        about = (look.__doc__ or "").strip().partition("\n")[0]
        into.append(Rule(rule_id, severity, about, look))
        return look

    return register


def python_rule(
    rule_id: str, severity: Severity = "warning"
) -> Callable[[Callable[[PythonFile], Iterator[Hit]]], Callable[[PythonFile], Iterator[Hit]]]:
    """A rule over one Python file."""
    return _register(_PYTHON, rule_id, severity)


def native_rule(
    rule_id: str, severity: Severity = "warning"
) -> Callable[[Callable[[NativeFile], Iterator[Hit]]], Callable[[NativeFile], Iterator[Hit]]]:
    """A rule over one C++, CUDA or PTX file, or over such text in a string of a Python file."""
    return _register(_NATIVE, rule_id, severity)


def subject_rule(
    rule_id: str, severity: Severity = "warning"
) -> Callable[
    [Callable[[Subject], Iterator[SubjectHit]]], Callable[[Subject], Iterator[SubjectHit]]
]:
    """A rule over the solution as a whole."""
    return _register(_SUBJECT, rule_id, severity)


@cache
def _load() -> None:
    from solbench.judge.guard import rules

    for module in pkgutil.iter_modules(rules.__path__):
        importlib.import_module(f"{rules.__name__}.{module.name}")


def python_rules() -> tuple[PythonRule, ...]:
    _load()
    return tuple(_PYTHON)


def native_rules() -> tuple[NativeRule, ...]:
    _load()
    return tuple(_NATIVE)


def subject_rules() -> tuple[SubjectRule, ...]:
    _load()
    return tuple(_SUBJECT)


def all_rules() -> dict[str, tuple[Severity, str]]:
    """Id → severity and what the rule looks for, in alphabetical order."""
    _load()
    found = {each.id: (each.severity, each.about) for each in _PYTHON}
    found |= {each.id: (each.severity, each.about) for each in _NATIVE}
    found |= {each.id: (each.severity, each.about) for each in _SUBJECT}
    return dict(sorted(found.items()))
