"""One attack: a cheating submission, its honest twin, and what should become of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from solbench.spec import Problem, Solution, SolutionSpec, SourceFile

Kind = Literal["attack", "policy", "probabilistic"]


@dataclass(frozen=True, slots=True)
class Submission:
    """The source of a solution, and how it is called."""

    source: str
    language: Literal["pytorch", "triton", "cpp"] = "pytorch"
    returns: bool = False
    """Its outputs are returned; else they are passed after the inputs."""
    files: dict[str, str] = field(default_factory=dict)
    """Further files: path → content."""

    def solution(self, problem: Problem, name: str) -> Solution:
        """As the judge takes it."""
        entry = "submission.cpp" if self.language == "cpp" else "submission.py"
        paths = {entry: self.source, **self.files}
        return Solution(
            name=name,
            definition=problem.name,
            author="corpus",
            spec=SolutionSpec(
                languages=(self.language,),
                target_hardware=("LOCAL",),
                entry_point=f"{entry}::run",
                destination_passing_style=not self.returns,
                binding="c" if self.language == "cpp" else None,
            ),
            sources=tuple(SourceFile(path=path, content=text) for path, text in paths.items()),
        )


@dataclass(frozen=True, slots=True)
class AttackCase:
    """What a case file calls ``CASE``. Its name is the file's."""

    family: str
    """The heading it belongs under: timing, answer theft, caching, …"""
    behaviour: str
    """What it tries, in one sentence."""
    problem: Problem
    attack: Submission
    honest: Submission
    """Does the same work without the trick."""
    expected: tuple[str, ...]
    """Statuses that the attack may get."""
    stopped_by: str
    """The layer that makes it worthless."""
    kind: Kind = "attack"
    """``policy``: allowed unless a problem's rules forbid it. ``probabilistic``: decided by luck, so
    a rate is told. Both are listed apart and count no gain."""
    held_out: Problem | None = None
    """The same definition on other inputs: an attack that passes is run on these too. Left out, the
    fresh values of every call are the held-out ones."""
    flag: str = ""
    """A flag that the attack must raise where it is given."""


@dataclass(frozen=True, slots=True)
class HonestCase:
    """What a file of the honest corpus calls ``CASE``: it looks like a cheat and must pass."""

    looks_like: str
    """The attack that it could be taken for."""
    problem: Problem
    solution: Submission
    needs: str = ""
    """A package without which it is left out."""
