"""Records of ``suite list``, ``suite show`` and ``suite check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from solbench.cli._lines import Line
from solbench.suite import Model, ProblemSource, precision

if TYPE_CHECKING:
    from solbench.suite.admission import ProblemCheck


class ProblemLine(Line):
    """One problem of the suite."""

    name: str
    tier: Literal["L1", "L2", "Quant", "FIB"]
    family: str
    direction: Literal["forward", "backward"]
    precision: str
    """The narrowest floating dtype among its inputs; ``none`` without one."""
    models: tuple[Model, ...]
    workloads: int
    smoke_workloads: int

    @classmethod
    def of(cls, source: ProblemSource) -> Self:
        problem = source.problem
        return cls(
            name=problem.name,
            tier=problem.tier,
            family=problem.family,
            direction=problem.direction,
            precision=precision(problem),
            models=problem.models,
            workloads=len(problem.workloads.values),
            smoke_workloads=len(problem.smoke.values),
        )


class GateRecord(Line):
    """The outcome of one gate."""

    gate: str
    outcome: Literal["ok", "failed", "not_verified"]
    detail: str


class ProblemCheckLine(Line):
    """One problem put to the admission test."""

    problem: str
    passed: bool
    """No gate failed; some may be open."""
    verified: bool
    """Every gate passed, none is open."""
    seconds: float
    findings: tuple[GateRecord, ...]

    @classmethod
    def of(cls, check: ProblemCheck) -> Self:
        return cls(
            problem=check.problem,
            passed=check.passed,
            verified=check.verified,
            seconds=round(check.seconds, 3),
            findings=tuple(
                GateRecord(gate=each.gate, outcome=each.outcome, detail=each.detail)
                for each in check.findings
            ),
        )
