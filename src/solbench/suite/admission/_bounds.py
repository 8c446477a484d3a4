"""Gates of the bound: every problem has one that is complete, and whose graph is the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from solbench.bound import Bound, derive_bound
from solbench.spec import Problem, Workload, input_layout
from solbench.suite._composition import precision
from solbench.suite._export import build
from solbench.suite._source import ProblemSource
from solbench.suite.admission._answer import Answer, passed, undecided, unless

HARDWARE = "h200"

BoundScope = Literal["none", "two", "all"]
"""Whose bounds are derived: of no workload, of two full ones and one smoke one, of all."""


def bound_complete(source: ProblemSource, scope: BoundScope = "two") -> Answer:
    """Full workloads have a T_SOL above zero that reads every input: a small and a middle one by size, or all.

    The numbers have shown that outputs depend on each input; a bound that says otherwise is wrong.
    """
    problem = build(source)
    chosen = problem.workloads if scope == "all" else _small_and_middle(problem)
    bounds = [_bound(problem, workload) for workload in chosen]
    problems = [_complaint(bound) for bound in bounds if not bound.t_sol_ms]
    problems += [problem for bound in bounds for problem in _unread(bound)]
    if precision(source.problem) != "float32":
        problems += [problem for bound in bounds for problem in _too_precise(bound)]
    return unless(list(dict.fromkeys(problems)), _times(bounds))


def _times(bounds: Sequence[Bound]) -> str:
    known = [bound for bound in bounds if bound.t_sol_ms is not None]
    if len(known) > 2:
        return f"{len(known)} workloads"
    return ", ".join(f"{(bound.t_sol_ms or 0) * 1e3:.3g} µs {bound.binding}" for bound in known)


def bound_verified(source: ProblemSource, scope: BoundScope = "two") -> Answer:
    """The captured graph of the first smoke workload, or of each, replayed in float64, gives what the
    reference gives."""
    problem = build(source, smoke=True)
    chosen = problem.workloads if scope == "all" else problem.workloads[:1]
    bounds = [_bound(problem, workload, verify=True) for workload in chosen]
    wrong = [_complaint(bound) for bound in bounds if bound.error is not None]
    if wrong:
        return unless(wrong)
    return (
        passed()
        if all(bound.verified for bound in bounds)
        else undecided("the graph was not replayed")
    )


def _unread(bound: Bound) -> Iterator[str]:
    for traffic in bound.demand.traffic if bound.demand else ():
        if traffic.direction == "read" and traffic.declared_bytes and not traffic.bytes:
            yield f"the bound does not read {traffic.tensor} ({traffic.reason})"


def _too_precise(bound: Bound) -> Iterator[str]:
    """A kernel that rounds the operand of a float32 product to the inputs' precision may pass the gate, and
    would be faster than the bound. Dot products of a streaming operator do not matter."""
    total, exact = sum(bound.matrix_flops.values()), bound.matrix_flops.get("fp32", 0)
    traffic = bound.dram_read_bytes + bound.dram_write_bytes
    if exact > 0.1 * total and total > 4 * traffic:
        yield f"{exact / total:.0%} of the FLOPs are priced as float32; round the operand"


def _small_and_middle(problem: Problem) -> tuple[Workload, Workload]:
    def size(workload: Workload) -> int:
        return sum(layout.nbytes for layout in input_layout(problem, workload))

    ordered = sorted(problem.workloads, key=size)
    return ordered[0], ordered[len(ordered) // 2]


def _bound(problem: Problem, workload: Workload, *, verify: bool = False) -> Bound:
    return derive_bound(
        problem, HARDWARE, workload=workload.uuid, verify=verify, precision="declared"
    )[0]


def _complaint(bound: Bound) -> str:
    reason = bound.error or f"unknown operators {', '.join(bound.unknown_ops)}"
    return f"{reason} ({bound.workload})"
