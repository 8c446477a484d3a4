"""One attack: a cheating submission, its honest twin, and what should become of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from solbench.spec import CompileOptions, Problem, Solution, SolutionSpec, SourceFile

Kind = Literal["attack", "policy", "probabilistic"]
DeviceKind = Literal["cpu", "cuda"]

_ENTRIES = {"cpp": "submission.cpp", "cuda_cpp": "submission.cu"}
_PYTHON_ENTRY = "submission.py"


@dataclass(frozen=True, slots=True)
class Submission:
    """The source of a solution, and how it is called."""

    source: str
    language: Literal["pytorch", "triton", "cpp", "cuda_cpp"] = "pytorch"
    returns: bool = False
    """Its outputs are returned; else they are passed after the inputs."""
    files: dict[str, str] = field(default_factory=dict)
    """Further files: path → content."""
    compiler_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()

    def solution(self, problem: Problem, name: str) -> Solution:
        """As the judge takes it."""
        entry = _ENTRIES.get(self.language, _PYTHON_ENTRY)
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
                binding="c" if self.language in _ENTRIES else None,
                compile_options=self._compile_options(),
            ),
            sources=tuple(SourceFile(path=path, content=text) for path, text in paths.items()),
        )

    def _compile_options(self) -> CompileOptions | None:
        if self.language == "cuda_cpp":
            return CompileOptions(cuda_cflags=self.compiler_flags, ld_flags=self.link_flags)
        if self.compiler_flags or self.link_flags:
            return CompileOptions(cflags=self.compiler_flags, ld_flags=self.link_flags)
        return None


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
    device: DeviceKind = "cpu"
    """What it runs on. Those of a GPU need one: ``solbench attacks run --device cuda``."""
    needs: str = ""
    """A program or package without which it is left out."""


@dataclass(frozen=True, slots=True)
class HonestCase:
    """What a file of the honest corpus calls ``CASE``: it looks like a cheat and must pass."""

    looks_like: str
    """The attack that it could be taken for."""
    problem: Problem
    solution: Submission
    device: DeviceKind = "cpu"
    needs: str = ""
    """A program or package without which it is left out."""
