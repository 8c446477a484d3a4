"""What a language has to offer."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Protocol

from solbench.errors import BuildError
from solbench.jail.protocol import Artifact
from solbench.spec import Solution


class Builder(Protocol):
    """Builds solutions of one language."""

    def __call__(self, solution: Solution, device: str) -> Artifact:
        """Raises ``BuildError``. Must give the same artifact for the same sources and toolchain."""


def entry(solution: Solution) -> tuple[str, str]:
    """File and function of the entry point; the file is among the sources."""
    file, _, function = solution.spec.entry_point.partition("::")
    if not function:
        raise BuildError(f"entry_point '{solution.spec.entry_point}' is not 'file::function'", "")
    if file not in {source.path for source in solution.sources}:
        raise BuildError(f"the entry file '{file}' is not among the sources", "")
    return file, function


def source_texts(solution: Solution) -> dict[str, str]:
    """Path → text. Raises ``BuildError`` for a path that would leave the artifact's folder."""
    texts: dict[str, str] = {}
    for source in solution.sources:
        path = PurePosixPath(source.path)
        if path.is_absolute() or ".." in path.parts or not path.name:
            raise BuildError(f"the source path '{source.path}' leaves the solution's folder", "")
        texts[str(path)] = source.content
    return texts
