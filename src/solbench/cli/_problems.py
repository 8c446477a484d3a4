"""What a PROBLEM argument may name: a folder, its definition, or ``suite:NAME``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.spec import Problem

SUITE_PREFIX = "suite:"


def open_problem(
    path: Path, blobs: Sequence[Path] | None = None, workloads_file: Path | None = None
) -> Problem:
    """Load a problem folder or a problem of the suite.

    ``workloads_file`` is a file of the problem's folder, or a path; for a problem of the suite it is one of
    the two files that its export has.
    """
    if str(path).startswith(SUITE_PREFIX):
        return _suite_problem(str(path), workloads_file)
    from solbench.spec import load_problem

    if workloads_file is None:
        return load_problem(path, blobs or ())
    folder = path if path.is_dir() else path.parent
    beside = (folder / workloads_file).exists()
    chosen = workloads_file if beside else workloads_file.resolve()
    return load_problem(path, blobs or (), workload_file=str(chosen))


def _suite_problem(name: str, workloads_file: Path | None) -> Problem:
    from solbench.suite import SMOKE_FILE, load

    known = {None: False, Path("workload.jsonl"): False, Path(SMOKE_FILE): True}
    if workloads_file not in known:
        raise InputError(
            f"a problem of the suite has no {workloads_file}",
            key="--workloads-file",
            remedy=f"It has workload.jsonl and {SMOKE_FILE}.",
        )
    return load(name, smoke=known[workloads_file])


@contextmanager
def program_paths(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Paths on disk for ``paths``: problems of the suite are exported, for as long as the context lasts.

    ``suite:`` alone stands for all of them, ``suite:gemm_*`` for those that it matches.
    """
    with TemporaryDirectory(prefix="solbench-suite-") as exported:
        yield [found for path in paths for found in _on_disk(path, Path(exported))]


def _on_disk(path: Path, folder: Path) -> list[Path]:
    if not str(path).startswith(SUITE_PREFIX):
        return [path]
    from solbench.suite import export

    return [export(name, folder) for name in chosen_names(str(path))]


def chosen_names(pattern: str) -> tuple[str, ...]:
    """Names that a pattern such as ``suite:gemm_*`` matches, all for none; ``InputError`` if there is none."""
    from solbench.suite import names, source_of

    bare = pattern.removeprefix(SUITE_PREFIX) or "*"
    chosen = tuple(name for name in names() if fnmatchcase(name, bare))
    if chosen:
        return chosen
    if not any(sign in bare for sign in "*?["):
        return (source_of(bare).name,)  # its error names what is near
    raise InputError(
        f"the suite has no problem '{bare}'", remedy="See 'solbench suite list' for the names."
    )
