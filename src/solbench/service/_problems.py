"""Which problems a service evaluates, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from solbench.errors import InputError
from solbench.service._records import InlineProblem
from solbench.spec import Problem, load_problem, make_problem

_SUITE = "suite:"
_MOST_KEPT = 64


class ProblemSource:
    """Finds the problem that a submission names."""

    def __init__(self, roots: Sequence[Path] = (), *, inline: bool = True) -> None:
        """``roots``: folders below which problems lie. ``inline``: whether a submission may bring its own."""
        self._roots = tuple(root.resolve() for root in roots)
        self._inline = inline
        self._kept: dict[str, Problem] = {}

    def find(self, wanted: str | InlineProblem) -> Problem:
        """Raises ``InputError`` for what is unknown or not allowed."""
        if isinstance(wanted, InlineProblem):
            if not self._inline:
                raise InputError(
                    "this service takes no problems of its clients",
                    key="problem",
                    remedy="Name one of the suite, or a folder below its roots.",
                )
            return make_problem(wanted.definition, wanted.workloads)
        if wanted not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[wanted] = self._load(wanted)
        return self._kept[wanted]

    def _load(self, name: str) -> Problem:
        if name.startswith(_SUITE):
            from solbench.suite import load

            return load(name)
        folder = next((found for root in self._roots if (found := _below(root, name))), None)
        if folder is None:
            raise InputError(
                f"there is no problem '{name[:80]}' below the service's roots",
                key="problem",
                remedy="Name a folder there, suite:NAME, or send the problem itself.",
            )
        return load_problem(folder)


def _below(root: Path, name: str) -> Path | None:
    """The folder, if it is one and does not lead out of the root."""
    try:
        found = (root / name).resolve()
        inside = found.is_relative_to(root) and (found / "definition.json").is_file()
    except (OSError, ValueError, RuntimeError):
        return None
    return found if inside else None
