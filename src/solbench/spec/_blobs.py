"""Where the files of safetensors inputs lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from solbench.errors import SpecError
from solbench.spec._problem import Problem


def find_blob(problem: Problem, path: str) -> Path:
    """The file of this path: under the problem folder, then under each blob root.

    Leading parts of the path are stripped in turn, so that a root may already hold them.
    """
    for candidate in _candidates(problem, path):
        try:
            if candidate.is_file():
                return candidate
        except OSError:
            continue  # a name that no file system takes
    roots = [str(root) for root in _roots(problem)]
    raise SpecError(
        f"the file '{path}' is in none of: {', '.join(roots) or '(no folder given)'}",
        key="inputs",
        remedy="Name the folder that holds it in FLASHINFER_TRACE_DIR.",
    )


def _roots(problem: Problem) -> tuple[Path, ...]:
    return (*((problem.folder,) if problem.folder else ()), *problem.blob_roots)


def _candidates(problem: Problem, path: str) -> Iterator[Path]:
    pure = PurePosixPath(path)
    if ".." in pure.parts or "\0" in path:
        raise SpecError(f"the path '{path}' leaves its folder", key="inputs")
    if pure.is_absolute():
        yield Path(pure)
    parts = pure.parts[1:] if pure.is_absolute() else pure.parts
    for root in _roots(problem):
        for start in range(len(parts)):
            yield root.joinpath(*parts[start:])
