"""Records of commands about bounds: ``bound``, ``explain``, ``ir bound``, ``challenge``, ``ops coverage``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal, Self

from solbench.bound import (
    Bound,
    CacheReport,
    Confidence,
    Difference,
    NodeCost,
    OpUse,
    PlainCount,
    Removed,
    Term,
    Traffic,
    bound_record,
    confidence,
)
from solbench.bound.challenge import Challenge, Count, Excess, Triage, challenge_record
from solbench.cli._lines import Line


class TrialRecord(Line):
    """One kind of product, tried at one place of the program."""

    kind: str
    """A precision class, or ``fp16x3`` and the like for split products."""
    passed: bool
    error_over_tolerance: float | None
    """Of the worst output and seed; at most 1 where the gate passes; null without a limit."""
    seeds: int
    """Draws that were judged."""
    share: float
    """How much of the work may be done so: 1 if it passed."""


class PlaceRecord(Line):
    """What was tried for the products of one place."""

    location: str
    declared: str
    admitted: str
    """The fastest kind that passed, or the declared class."""
    trials: tuple[TrialRecord, ...]
    calls: tuple[int, ...]
    """Positions in the captured graph."""
    part: str
    """A faster kind that some of the work may be done in; empty for none."""
    part_share: float
    """How much of the work."""


class AdmissionRecord(Line):
    """Evidence of the precision that a bound is priced at."""

    status: Literal["declared", "admitted", "not_needed", "undecided"]
    """Every lower class failed; some passed; they would not change T_SOL; it could not be tried."""
    reason: str
    gate: Literal["official", "budget", ""]
    axes: dict[str, int] | None
    """Sizes of the instance on which it was tried."""
    places: tuple[PlaceRecord, ...]
    together: bool | None
    """Whether all admitted kinds pass in one run."""


class BoundLine(Line):
    """The bound of one workload; docs/formats.md explains the keys."""

    problem: str
    """The definition's name, or a module's path."""
    workload: str
    """Its uuid; empty for a module."""
    hardware: str
    clock_mhz: float | None
    """Null for a program that failed before it was priced."""
    t_sol_ms: float | None
    """Null when incomplete."""
    t_attainable_ms: float | None
    """An estimate."""
    t_floor_ms: float | None
    binding: Literal["dram", "matrix"] | None
    matrix_flops: dict[str, int]
    """Precision class → FLOPs."""
    dram_read_bytes: int
    dram_write_bytes: int
    complete: bool
    unknown_ops: tuple[str, ...]
    """Operations without a rule."""
    capture: Literal["fake", "values", "real"] | None
    verified: bool
    verified_nodes: int
    """Of ``total_nodes`` distinct calls: their lifted form agrees with the call."""
    total_nodes: int
    unverified: tuple[str, ...]
    """What was not checked, each with the reason."""
    precision: str
    assumptions: tuple[str, ...]
    seconds: float
    """Time the derivation took."""
    error: str | None
    """Why there is no bound, with the line of the reference."""
    admission: AdmissionRecord | None

    @classmethod
    def of(cls, bound: Bound) -> Self:
        """The record of a bound, as traces hold it too."""
        return cls.model_validate(bound_record(bound))


class ExplainLine(BoundLine):
    """A bound with its reasons."""

    confidence: Confidence
    terms: tuple[Term, ...]
    nodes: tuple[NodeCost, ...]
    traffic: tuple[Traffic, ...]
    removed: tuple[Removed, ...]
    fused_io: PlainCount | None = None
    """The plain count, with ``--method fused-io``."""
    cache: CacheReport | None = None
    """Traffic against capacity, with ``--cache``."""

    @classmethod
    def explained(
        cls, bound: Bound, fused_io: PlainCount | None = None, cache: CacheReport | None = None
    ) -> Self:
        """A bound with what is known about its demand; without a demand the lists are empty."""
        demand = bound.demand
        return cls(
            **dict(BoundLine.of(bound)),
            confidence=confidence(bound),
            terms=bound.terms,
            nodes=demand.nodes if demand else (),
            traffic=demand.traffic if demand else (),
            removed=demand.removed if demand else (),
            fused_io=fused_io,
            cache=cache,
        )


class DifferenceRecord(Line):
    """One figure of two bounds."""

    what: str
    unit: str
    first: float | str | None
    """Null: this bound has no such figure."""
    second: float | str | None
    ratio: float | None
    """Second over first, for numbers."""


class ComparedBoundsLine(Line):
    """With ``--compare``: what differs, in the order in which a bound is read."""

    first: str
    second: str
    differences: tuple[DifferenceRecord, ...]

    @classmethod
    def of(cls, first: str, second: str, differences: tuple[Difference, ...]) -> Self:
        records = (DifferenceRecord(**asdict(each), ratio=each.ratio) for each in differences)
        return cls(first=first, second=second, differences=tuple(records))


class ChallengeLine(Line):
    """What became of a challenge."""

    problem: str
    workload: str
    hardware: str
    verdict: Literal["refuted", "reproduced", "explained", "not_faster", "agrees", "unexplained"]
    meaning: str
    """The verdict in a sentence."""
    latency_ms: float | None
    """The claimed time; null where only the count was challenged."""
    t_sol_ms: float | None
    t_floor_ms: float | None
    binding: Literal["dram", "matrix"] | None
    triage: tuple[Triage, ...]
    excess: Excess | None
    count: Count | None
    """What a plain kernel needs on the smallest program."""
    suspect: str
    """The operation to distrust."""
    reference: str | None
    """The smallest program."""
    axes: dict[str, int] | None
    tried: int
    """Smaller programs and sizes."""

    @classmethod
    def of(cls, found: Challenge) -> Self:
        return cls.model_validate(challenge_record(found))


class CoverageLine(Line):
    """One overload that programs call."""

    op: str
    calls: int
    programs: int
    family: str
    """Of its rule; empty where there is none."""
    refused: int
    """Calls that the rule does not cover."""
    covered: bool

    @classmethod
    def of(cls, use: OpUse) -> Self:
        return cls(**asdict(use), covered=use.covered)


class UncapturedLine(Line):
    """A program that could not be captured."""

    program: str
    error: str
