"""Chains of matrix products: the order of multiplication is free, the cheapest one counts."""

from __future__ import annotations

from dataclasses import dataclass

from solbench.bound._access import Along
from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map

MAX_FACTORS = 12
"""Longest chain that is reordered; the search is cubic in it."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A plain product ``ik,kj->ij`` (after batch ranks) of known sizes."""

    cost: StepCost
    left: int
    right: int
    out: int
    batch: int
    rows: int
    inner: int
    columns: int


def chain_savings(lifted: LiftedGraph, found: Demanded) -> dict[int, int]:
    """Multiply-adds saved by the best order, by ``id`` of the step of each chain's last product."""
    products = {p.out: p for c in found.costs if (p := _product(c, lifted, found)) is not None}
    uses = _uses(lifted, found)
    inner = {
        v for p in products.values() for v in (p.left, p.right) if v in products and uses[v] == 1
    }
    savings: dict[int, int] = {}
    for product in products.values():
        if product.out in inner and uses.get(product.out) == 1:
            continue
        parts = _factors(product, products, uses)
        if not 3 <= len(parts) <= MAX_FACTORS:
            continue
        spent = sum(
            p.batch * p.rows * p.inner * p.columns for p in _members(product, products, uses)
        )
        best = product.batch * _best(parts)
        if best < spent:
            savings[id(product.cost.step)] = spent - best
    return savings


def _product(cost: StepCost, lifted: LiftedGraph, found: Demanded) -> _Product | None:
    item = cost.step.lifted
    if not isinstance(item, Map) or not item.contracts or cost.work is None:
        return None
    if len(item.operands) != 2 or len(item.outs) != 1:
        return None
    first, second = item.operands
    axes = (first.axes, second.axes, item.out_axes[0])
    if any(not isinstance(a, Along) or not a.identity for group in axes for a in group):
        return None
    left, right, out = ([a.rank for a in group if isinstance(a, Along)] for group in axes)
    batch = [r for r in out if r in left and r in right]
    rows, columns = ([r for r in out if r not in batch and r in side] for side in (left, right))
    summed = [r for r in left if r not in out]
    plain = (
        out == [*batch, *rows, *columns]
        and left == [*batch, *rows, *summed]
        and right in ([*batch, *summed, *columns], [*batch, *columns, *summed])
        and len(rows) == len(columns) == len(summed) == 1
    )
    sizes = item.ranks
    amount = sizes[rows[0]] * sizes[columns[0]] * sizes[summed[0]] if plain else 0
    count = 1
    for rank in batch:
        count *= sizes[rank]
    if not plain or right != [*batch, *summed, *columns] or cost.work.macs != count * amount:
        return None
    if not found.need[item.outs[0]].is_full:
        return None
    return _Product(
        cost, lifted.resolve(first.value), lifted.resolve(second.value), item.outs[0],
        count, sizes[rows[0]], sizes[summed[0]], sizes[columns[0]],
    )  # fmt: skip


def _uses(lifted: LiftedGraph, found: Demanded) -> dict[int, int]:
    """How often each needed value is used."""
    counts: dict[int, int] = {}
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Map):
            if any(o in found.need and not found.need[o].is_empty for o in item.outs):
                for operand in item.operands:
                    counts[operand.value] = counts.get(operand.value, 0) + 1
        elif item.out in found.need and not found.need[item.out].is_empty:
            counts[item.value] = counts.get(item.value, 0) + 1
    for _, value in lifted.graph.outputs:
        resolved = lifted.resolve(value)
        counts[resolved] = counts.get(resolved, 0) + 1
    return counts


def _inside(
    value: int, parent: _Product, products: dict[int, _Product], uses: dict[int, int]
) -> _Product | None:
    child = products.get(value)
    if child is None or uses.get(value) != 1 or child.batch != parent.batch:
        return None
    return child


def _factors(
    product: _Product, products: dict[int, _Product], uses: dict[int, int]
) -> list[tuple[int, int]]:
    """(rows, columns) of the factors, from left to right."""
    result: list[tuple[int, int]] = []
    sides = (
        (product.left, (product.rows, product.inner)),
        (product.right, (product.inner, product.columns)),
    )
    for value, size in sides:
        child = _inside(value, product, products, uses)
        result += [size] if child is None else _factors(child, products, uses)
    return result


def _members(
    product: _Product, products: dict[int, _Product], uses: dict[int, int]
) -> list[_Product]:
    result = [product]
    for value in (product.left, product.right):
        child = _inside(value, product, products, uses)
        if child is not None:
            result += _members(child, products, uses)
    return result


def _best(factors: list[tuple[int, int]]) -> int:
    """Fewest multiply-adds over all parenthesisations (dynamic programming over sub-chains)."""
    count = len(factors)
    cost = [[0] * count for _ in range(count)]
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            last = first + length - 1
            outer = factors[first][0] * factors[last][1]
            cost[first][last] = min(
                cost[first][split] + cost[split + 1][last] + outer * factors[split][1]
                for split in range(first, last)
            )
    return cost[0][count - 1]
