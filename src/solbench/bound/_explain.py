"""A bound in words: each term with its formula and numbers, and the plain published count beside it."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.bound._result import Bound, Demand, Term


@dataclass(frozen=True, slots=True)
class PlainCount:
    """All contraction work and every external tensor once, as plain methods count: for comparison only."""

    matrix_flops: int
    dram_bytes: int


def plain_count(demand: Demand) -> PlainCount:
    """The fused-io count: nothing removed, every input read whole, every output written whole."""
    kept = sum(demand.matrix_flops.values())
    removed = sum(r.matrix_flops for r in demand.removed)
    return PlainCount(kept + removed, sum(t.declared_bytes for t in demand.traffic))


def formulas(bound: Bound) -> tuple[str, ...]:
    """One line a term, then how the terms make the figures."""
    if bound.t_sol_ms is None:
        return ()
    lines = [_formula(term) for term in bound.terms]
    return (
        *lines,
        f"T_SOL = max(dram, sum of matrix terms) = {bound.t_sol_ms:.6g} ms, bound by {bound.binding}",
        "T_floor = max((reads + writes beyond L2) / DRAM peak, matrix) "
        f"= {bound.t_floor_ms:.6g} ms",
        "T_attainable = launches + max(achieved DRAM, vector, matrix), at least T_SOL "
        f"= {bound.t_attainable_ms:.6g} ms (an estimate)",
    )


def _formula(term: Term) -> str:
    return (
        f"{term.resource}: {term.amount:.6g} {term.unit} / {term.rate_per_s:.6g} {term.unit}/s "
        f"= {term.time_ms:.6g} ms"
    )
