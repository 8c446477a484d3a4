"""Challenge a bound: check a claimed time, explain it if possible, else refute the bound on a tiny program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from solbench.bound._derive import derive_bound
from solbench.bound._result import Bound
from solbench.bound.challenge._case import Case, Finding, Judge, settled
from solbench.bound.challenge._count import Count, Excess
from solbench.bound.challenge._shrink import DEFAULT_ATTEMPTS, Shrinker
from solbench.bound.challenge._triage import Triage, triage
from solbench.errors import InputError, SolBenchError
from solbench.hardware import Hardware, load_hardware
from solbench.spec import Problem, Workload

Verdict = Literal["refuted", "reproduced", "explained", "not_faster", "agrees", "unexplained"]
"""``refuted``: an independent count on a tiny program needs less than the bound asks for; ``reproduced``: the
claim stands at smaller sizes; ``explained``: by something that is no fault of the count; ``unexplained``: none
of these; ``agrees``: no time was claimed, and the independent count agrees with the bound."""
Times = Callable[[Case], float | None]
"""The kernel's time at other sizes, in ms: measured, or computed from claimed work; ``None`` if unknown."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """What became of a challenge."""

    problem: str
    workload: str
    bound: Bound
    latency_ms: float | None
    """The claimed time; ``None``: only the count is challenged."""
    triage: tuple[Triage, ...]
    verdict: Verdict
    finding: Finding | None
    """The smallest case, if one was found."""
    reproducer: Case | None
    tried: int
    """Candidates that were derived."""

    @property
    def suspect(self) -> str:
        """The operation to distrust: the one with the most of the resource in the smallest case."""
        if self.finding is None:
            return ""
        rows = self.finding.demand.nodes
        if self.finding.excess.resource == "matrix":
            row = max(rows, key=lambda n: n.matrix_flops, default=None)
        else:
            row = max(rows, key=lambda n: n.bytes_read + n.bytes_written, default=None)
        ops = [node.op for node in self.finding.graph.nodes]
        name = row.op if row is not None and len(ops) > 2 else " → ".join(ops)
        return f"{name} ({row.location})" if row is not None and row.location else name


def challenge(
    problem: Problem,
    workload: Workload,
    hardware: str | Hardware = "h200",
    *,
    latency_ms: float | None = None,
    times: Times | None = None,
    clock_mhz: float | None = None,
    attempts: int = DEFAULT_ATTEMPTS,
) -> Challenge:
    """Check a claimed time against the bound and shrink what contradicts it.

    ``times`` gives the kernel's time at other sizes, so that a claim which no small count refutes is followed
    to the smallest sizes at which it still beats the bound. Raises ``InputError`` for an incomplete bound.
    """
    device = load_hardware(hardware) if isinstance(hardware, str) else hardware
    (bound,) = derive_bound(problem, device, workload=workload.uuid, clock_mhz=clock_mhz)
    if bound.t_sol_ms is None or bound.demand is None:
        why = bound.error or f"no rule for {', '.join(bound.unknown_ops)}"
        raise InputError(f"there is no complete bound to challenge: {why}", key=problem.name)
    case = Case(problem.definition, workload)
    reasons = () if latency_ms is None else triage(bound, latency_ms, device)
    shrinker = Shrinker(attempts=attempts)
    finding, verdict = shrinker.refute(case), _verdict(reasons)
    if finding is not None:
        finding, verdict = shrinker.shrink(finding), "refuted"
    elif verdict == "unexplained" and times is not None:
        shrinker = Shrinker(
            timed_judge(times, device, clock_mhz), attempts=attempts, programs=False
        )
        finding = shrinker.refute(case)
        if finding is not None:
            finding, verdict = shrinker.shrink(finding), "reproduced"
    reproducer = None if finding is None else settled(finding)
    return Challenge(
        problem.name,
        workload.uuid,
        bound,
        latency_ms,
        reasons,
        verdict,
        finding,
        reproducer,
        shrinker.tried,
    )


def _verdict(reasons: tuple[Triage, ...]) -> Verdict:
    if not reasons:
        return "agrees"
    if reasons[0].kind == "not_faster":
        return "not_faster"
    return "explained" if any(each.explains for each in reasons) else "unexplained"


def timed_judge(times: Times, hardware: Hardware, clock_mhz: float | None) -> Judge:
    """A case stands if its time is below T_SOL and T_floor; the excess is what that time has room for."""

    def judge(case: Case) -> Finding | None:
        try:
            (bound,) = derive_bound(case.problem, hardware, clock_mhz=clock_mhz)
            if bound.t_sol_ms is None or bound.demand is None or bound.t_floor_ms is None:
                return None
            time_ms = times(case)
        except SolBenchError:
            return None
        if time_ms is None or time_ms >= min(bound.t_sol_ms, bound.t_floor_ms):
            return None
        return _timed_finding(case, bound, time_ms)

    return judge


def _timed_finding(case: Case, bound: Bound, time_ms: float) -> Finding:
    from solbench.bound._programs import problem_program
    from solbench.bound.capture import capture

    assert bound.demand is not None
    assert bound.t_sol_ms is not None
    binding = bound.binding or "dram"
    if binding == "matrix":
        amount = sum(bound.matrix_flops.values())
    else:
        amount = bound.dram_read_bytes + bound.dram_write_bytes
    room = int(amount * time_ms / bound.t_sol_ms)
    count = Count(room, 0, None) if binding == "dram" else Count(0, 0, room // 2)
    graph, _ = capture(problem_program(case.problem, case.workload))
    return Finding(case, bound.demand, count, Excess(binding, amount, room), graph)
