"""Append-only JSONL files as the truth of a run: what is in one already, and adding to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from solbench.errors import InputError

if TYPE_CHECKING:
    from solbench.spec import Problem, Solution, Trace


def open_records(path: Path) -> TextIO:
    """A JSONL file to append to. A last line that a killed run left torn is ended, so that the next record
    stands on a line of its own."""
    if not path.parent.is_dir():
        remedy = "Make it first, or name another place."
        raise InputError(f"there is no folder '{path.parent}'", key="--out", remedy=remedy)
    torn = path.is_file() and _is_torn(path)
    file = path.open("a", encoding="utf-8")
    if torn:
        file.write("\n")
    return file


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        if not file.seek(0, 2):
            return False
        file.seek(-1, 2)
        return file.read(1) != b"\n"


def finished_traces(
    path: Path, problem: Problem, solution: Solution, device: str, hardware: str | None
) -> dict[str, Trace]:
    """Traces of this very solution on these very workloads, by uuid; digests decide, not names.

    Only those of the same kind of device, and scored against the same hardware if one is named.

    Lines that are no traces are passed over if others are: a run may have been killed while it wrote one.
    """
    from solbench.spec import definition_digest, read_trace_lines, solution_digest, workload_digest

    if not path.exists():
        return {}
    traces, errors = read_trace_lines(path)
    if errors and not traces:
        raise errors[0]
    workloads = {each.uuid: workload_digest(each) for each in problem.workloads}
    same = {
        "definition": definition_digest(problem.definition),
        "solution": solution_digest(solution),
    }
    return {
        trace.workload.uuid: trace
        for trace in traces
        if trace.solbench is not None
        and _is_of(trace, device, hardware)
        and trace.solbench.digests.get("workload") == workloads.get(trace.workload.uuid, "")
        and all(trace.solbench.digests.get(key) == digest for key, digest in same.items())
    }


def _is_of(trace: Trace, device: str, hardware: str | None) -> bool:
    on_gpu = "cuda" in trace.evaluation.environment.libs
    bound = trace.solbench.bound if trace.solbench is not None else None
    priced_on = (bound or {}).get("hardware")
    return on_gpu == device.startswith("cuda") and hardware in (None, priced_on)
