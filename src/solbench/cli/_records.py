"""Append-only JSONL files as the truth of a run: what is in one already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solbench.spec import Problem, Solution, Trace


def finished_traces(path: Path, problem: Problem, solution: Solution) -> dict[str, Trace]:
    """Traces of this very solution on these very workloads, by uuid; digests decide, not names."""
    from solbench.spec import definition_digest, read_traces, solution_digest, workload_digest

    if not path.exists():
        return {}
    workloads = {each.uuid: workload_digest(each) for each in problem.workloads}
    same = {
        "definition": definition_digest(problem.definition),
        "solution": solution_digest(solution),
    }
    return {
        trace.workload.uuid: trace
        for trace in read_traces(path)
        if trace.solbench is not None
        and trace.solbench.digests.get("workload") == workloads.get(trace.workload.uuid, "")
        and all(trace.solbench.digests.get(key) == digest for key, digest in same.items())
    }
