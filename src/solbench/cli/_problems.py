"""What a PROBLEM argument may name: a folder, its definition, or ``suite:NAME``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

    ``suite:`` alone stands for all of them.
    """
    with TemporaryDirectory(prefix="solbench-suite-") as exported:
        yield [found for path in paths for found in _on_disk(path, Path(exported))]


def _on_disk(path: Path, folder: Path) -> list[Path]:
    if not str(path).startswith(SUITE_PREFIX):
        return [path]
    from solbench.suite import export, names

    bare = str(path).removeprefix(SUITE_PREFIX)
    return [export(name, folder) for name in ([bare] if bare else names())]
