"""Append-only JSONL files as the truth of a run: what is in one already, and adding to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING

from solbench.cli import _console
from solbench.errors import InputError, SolBenchError

if TYPE_CHECKING:
    from solbench.spec import Problem, SolBenchRecord, Solution, Trace


Append = Callable[[str], None]


@contextmanager
def appending(path: Path | None) -> Iterator[Append]:
    """A function that adds a line to a JSONL file, at once; without a file it does nothing.

    A last line that a killed run left torn is ended, so that the next record stands on a line of its own. A run
    that ends early is told how many records it leaves.
    """
    if path is None:
        yield lambda line: None
        return
    kept = 0
    with _opened(path) as file:

        def append(line: str) -> None:
            nonlocal kept
            _write_all(file, line + "\n", path)
            kept += 1

        try:
            yield append
        except (KeyboardInterrupt, OSError, SolBenchError):
            if kept:
                _console.note(f"kept in {path}: {kept} {'record' if kept == 1 else 'records'}")
            raise


def _opened(path: Path) -> FileIO:
    """Without a buffer: what could not be written is not tried again as the file closes."""
    _console.require_folder(path, "--out")
    torn = path.is_file() and _is_torn(path)
    file = path.open("ab", buffering=0)
    try:
        if torn:
            _write_all(file, "\n", path)
    except OSError:
        file.close()
        raise
    return file


def _write_all(file: FileIO, text: str, path: Path) -> None:
    """A disk that is nearly full takes a part of a line before it refuses, which does not name the file."""
    data = text.encode("utf-8")
    try:
        while data:
            data = data[file.write(data) :]
    except OSError as error:
        error.filename = str(path)
        raise


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return False
        file.seek(-1, 2)
        return file.read(1) != b"\n"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What traces must have in common to be one run."""

    device: str
    hardware: str | None
    """``None``: whichever suits the device."""
    mode: str
    hot: bool
    rules: tuple[Path, ...] = ()
    """Folders of operator rules beside ours."""

    @property
    def rules_digest(self) -> str:
        """Empty without rules."""
        if not self.rules:
            return ""
        from solbench.bound import rules_digest

        return rules_digest(self.rules)


def finished_traces(
    path: Path, problem: Problem, solution: Solution, conditions: Conditions
) -> dict[str, Trace]:
    """Traces of this very solution on these very workloads, by uuid; digests decide, not names.

    A file that also holds traces of a solution or problem of the same name but other content, or under other
    conditions, is refused: what is in one file is read as one run. Lines that are no traces are passed over if
    others are: a run may have been killed while it wrote one. An ``INVALID_REFERENCE`` is no verdict on the
    solution, and the next time the disk may have room again: such a workload is not finished.
    """
    return finished_among(read_finished(path), path, problem, solution, conditions)


def read_finished(path: Path) -> tuple[Trace, ...]:
    """The traces of a file to resume from; none if there is no such file yet."""
    from solbench.spec import read_trace_lines

    if not path.exists():
        return ()
    traces, errors = read_trace_lines(path)
    if errors and not traces:
        raise errors[0]
    return traces


def finished_among(
    traces: Iterable[Trace],
    path: Path | None,
    problem: Problem,
    solution: Solution,
    conditions: Conditions,
) -> dict[str, Trace]:
    """As ``finished_traces``, among traces already read from ``path``."""
    finished: dict[str, Trace] = {}
    for trace in traces:
        same_names = trace.definition == problem.name and trace.solution == solution.name
        if trace.solbench is None or not same_names:
            continue
        other = _other(trace, trace.solbench, problem, solution, conditions)
        if other:
            raise InputError(
                f"holds a trace of workload {trace.workload.uuid} with another {other}",
                file=path,
                key="--resume",
                remedy="Name another file with --out.",
            )
        if trace.evaluation.status == "INVALID_REFERENCE":
            finished.pop(trace.workload.uuid, None)
        elif any(each.uuid == trace.workload.uuid for each in problem.workloads):
            finished[trace.workload.uuid] = trace
    return finished


def _other(
    trace: Trace,
    record: SolBenchRecord,
    problem: Problem,
    solution: Solution,
    conditions: Conditions,
) -> str:
    """The first thing in which a trace is not of this run; empty if there is none."""
    from solbench.spec import definition_digest, solution_digest, workload_digest

    wanted = {
        "definition": definition_digest(problem.definition),
        "solution": solution_digest(solution),
    }
    for key, digest in wanted.items():
        if record.digests.get(key) != digest:
            return key
    for workload in problem.workloads:
        known = record.digests.get("workload") == workload_digest(workload)
        if workload.uuid == trace.workload.uuid and not known:
            return "workload"
    if record.device != conditions.device:
        return f"device ({record.device or 'not recorded'})"
    if record.mode != conditions.mode:
        return f"mode ({record.mode or 'not recorded'})"
    if record.digests.get("rules", "") != conditions.rules_digest:
        return "set of operator rules (--rules)"
    priced_on = (record.bound or {}).get("hardware")
    if conditions.hardware is not None and priced_on not in (None, conditions.hardware):
        return f"hardware ({priced_on})"
    cache = record.timing.cache if record.timing is not None else None
    if cache is not None and (cache == "hot") != conditions.hot:
        return f"state of the caches ({cache})"
    return ""
