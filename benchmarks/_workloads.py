"""Which workloads of a problem stand for all of them."""

from __future__ import annotations

from solbench import spec


def input_bytes(problem: spec.Problem, workload: spec.Workload) -> int:
    return sum(layout.nbytes for layout in spec.input_layout(problem, workload))


def spread_over_sizes(problem: spec.Problem, count: int) -> list[spec.Workload]:
    """So many, from small to large: the largest, and others at equal steps below it."""
    ordered = sorted(problem.workloads, key=lambda workload: input_bytes(problem, workload))
    count = min(count, len(ordered))
    return [ordered[(len(ordered) - 1) * (i + 1) // count] for i in range(count)]
