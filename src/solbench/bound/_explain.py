"""A bound in words: each term with its formula and numbers, and the plain published count beside it."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.bound._result import Bound, Demand, Term


@dataclass(frozen=True, slots=True)
class PlainCount:
    """All contraction work and every external tensor once, as plain methods count: for comparison only."""

    matrix_flops: int
    dram_bytes: int

    def time_ms(self, bound: Bound) -> float | None:
        """On the bound's device with its mix of precisions; ``None`` where the bound multiplies nothing."""
        scored = [t for t in bound.terms if t.enters == "t_sol"]
        dram = [t for t in scored if t.resource == "dram"]
        products = [t for t in scored if t.resource.startswith("matrix.")]
        flops = sum(t.amount for t in products)
        if not dram or (self.matrix_flops and not flops):
            return None
        matrix_ms = sum(t.time_ms for t in products) * self.matrix_flops / flops if flops else 0.0
        return max(self.dram_bytes / dram[0].rate_per_s * 1e3, matrix_ms)


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
        "T_attainable = launch + dependency + max(sum of dram.*, l2, shared, vector, special, products), "
        "at least T_SOL "
        f"= {bound.t_attainable_ms:.6g} ms (an estimate)",
    )


def _formula(term: Term) -> str:
    return (
        f"{term.resource}: {term.amount:.6g} {term.unit} / {term.rate_per_s:.6g} {term.unit}/s "
        f"= {term.time_ms:.6g} ms" + (f" ({term.detail})" if term.detail else "")
    )
