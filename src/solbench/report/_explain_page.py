"""A bound as one page that needs no network: terms, roofline, operations, traffic, assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solbench.errors import MissingExtra
from solbench.report import _format as fmt
from solbench.report._bound_plot import bound_plot
from solbench.report._cache import cache_plot
from solbench.report._explain import attainable_binding

if TYPE_CHECKING:
    from solbench.bound import Bound, CacheReport

MOST_ROWS = 2000
"""Of operations on the page: an unrolled loop has more than anyone reads; the largest are kept."""


@dataclass(frozen=True, slots=True)
class _Node:
    """One row of the operation table, ready to show."""

    op: str
    einsum: str
    flops: str
    precision: str
    vector: str
    special: str
    kept: str
    dropped: str
    reason: str
    location: str


def explain_page(bound: Bound, curves: CacheReport | None = None) -> str:
    """The page as text; ``curves`` adds traffic against capacity. Raises ``MissingExtra`` without jinja2."""
    from solbench.bound import confidence, formulas, plain_count

    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError as error:
        raise MissingExtra("jinja2", "report", error) from error

    environment = Environment(
        loader=PackageLoader("solbench.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"duration": fmt.duration, "size": fmt.size, "ratio": fmt.ratio}
    environment.globals |= {"amount": fmt.amount}
    demand = bound.demand
    nodes = [] if demand is None else _nodes(bound)
    return environment.get_template("explain.html.j2").render(
        bound=bound,
        confidence=confidence(bound),
        binding=attainable_binding(bound),
        formulas=formulas(bound),
        plain=None if demand is None else plain_count(demand),
        plain_ms=None if demand is None else plain_count(demand).time_ms(bound),
        nodes=nodes,
        node_count=0 if demand is None else len(demand.nodes),
        traffic=() if demand is None else demand.traffic,
        removed=() if demand is None else demand.removed,
        roofline=_inline(bound_plot(bound, ".svg")) if bound.t_sol_ms is not None else "",
        curves=curves,
        curve=_inline(cache_plot(curves, "traffic against capacity", ".svg")) if curves else "",
    )


def _nodes(bound: Bound) -> list[_Node]:
    assert bound.demand is not None
    rows = list(bound.demand.nodes)
    if len(rows) > MOST_ROWS:
        rows = sorted(rows, key=lambda n: (n.matrix_flops, n.vector_ops), reverse=True)[:MOST_ROWS]
    return [
        _Node(
            op=row.op.removeprefix("aten.").removesuffix(".default"),
            einsum=row.einsum,
            flops=fmt.amount(row.matrix_flops, "") if row.matrix_flops else "",
            precision=row.precision,
            vector=fmt.amount(row.vector_ops, "") if row.vector_ops else "",
            special=fmt.amount(row.special_ops, "") if row.special_ops else "",
            kept=fmt.size(row.bytes_read + row.bytes_written)
            if row.bytes_read + row.bytes_written
            else "",
            dropped=fmt.size(row.bytes_dropped) if row.bytes_dropped else "",
            reason=row.dropped_reason,
            location=row.location,
        )
        for row in rows
    ]


def _inline(svg: bytes) -> str:
    """Without the XML prologue, to stand inside the page."""
    text = svg.decode("utf-8")
    return text[text.index("<svg") :]
