"""Sums of products that share a factor: ``x @ a + x @ b`` is one product, ``x @ (a + b)``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from solbench.bound import _access, _facts, _network_parts, _reps
from solbench.bound._access import Along, Axis, Fixed, Table, Taps
from solbench.bound._chains import Product, Saving, plain_product
from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._network_parts import Reading


@dataclass(frozen=True, slots=True)
class _Term:
    """A product that is one term of a sum, and the views that lie between."""

    cost: StepCost
    item: Map
    path: tuple[object, ...]


@dataclass(slots=True)
class _Sums:
    lifted: LiftedGraph
    found: Demanded
    costs: dict[int, StepCost]
    readings: dict[int, list[Reading]]
    visited: set[int] = field(default_factory=set)
    """Sums that are part of one that was looked at."""

    def terms(self, root: int) -> Iterator[_Term]:
        """Products that a value is a sum of, through what is linear and read once."""
        waiting: list[tuple[int, tuple[object, ...]]] = [(root, ())]
        while waiting:
            value, path = waiting.pop()
            maker = self.lifted.maker.get(value)
            if maker is None or not (value == root or len(self.readings.get(value, ())) == 1):
                continue
            if isinstance(maker, Reshape):
                step = ("shape", self.lifted.values[maker.value].shape)
                waiting.append((maker.value, (*path, step)))
            elif maker.contracts:
                cost = self.costs.get(value)
                if cost is not None and cost.work is not None and cost.work.macs:
                    yield _Term(cost, maker, path)
            elif self.adds(maker):
                self.visited.add(value)
                waiting += [(o.value, path) for o in maker.operands]
            elif (scaled := self._scaled(maker)) is not None:
                waiting.append((scaled.value, path))
            elif _is_unary(maker):
                (operand,) = maker.operands
                moved = () if _in_place(operand, maker) else (_axes_key(operand.axes),)
                waiting.append((operand.value, (*path, *moved)))

    def _scaled(self, maker: Map) -> Operand | None:
        """What is multiplied by a factor that is the same for all rows and columns, as a tensor gives it."""
        identity = _access.identity(len(maker.ranks))
        plain = all(o.within is None and o.outside is None for o in maker.operands)
        if maker.flavour != "product" or len(maker.operands) != 2 or not plain or maker.coupled:
            return None
        if not maker.linear or maker.contracts or maker.out_axes[0] != identity:
            return None
        for main, factor in (maker.operands, maker.operands[::-1]):
            reps = _facts.operand_reps(factor, maker.ranks, self.lifted.values, self.lifted.facts)
            ends = zip(reps[-2:], maker.ranks[-2:], strict=True)
            if main.axes == identity and all(_reps.is_const(r, n) for r, n in ends):
                return main
        return None

    def adds(self, maker: Map | Reshape | None) -> bool:
        return (
            isinstance(maker, Map)
            and len(maker.operands) > 1
            and not maker.contracts
            and not maker.coupled
            and _network_parts.is_addition(maker)
            and all(o.within is None and o.outside is None for o in maker.operands)
        )


def _is_unary(maker: Map) -> bool:
    """A view, a cast or a factor: linear, position by position."""
    return (
        maker.linear
        and len(maker.operands) == 1
        and not maker.coupled
        and maker.operands[0].within is None
        and maker.operands[0].outside is None
        and not _network_parts.is_sum(maker)
    )


def _in_place(operand: Operand, maker: Map) -> bool:
    return operand.axes == _access.identity(len(maker.ranks)) == maker.out_axes[0]


def sum_savings(lifted: LiftedGraph, found: Demanded) -> Iterator[Saving]:
    """Products that are added to another product of the same tensor."""
    costs = {
        c.step.lifted.outs[0]: c
        for c in found.costs
        if isinstance(c.step.lifted, Map) and c.step.lifted.contracts
    }
    sums = _Sums(lifted, found, costs, _network_parts.readings(lifted, found))
    for step in reversed(lifted.steps):
        item = step.lifted
        if isinstance(item, Map) and sums.adds(item) and item.outs[0] not in sums.visited:
            terms = list(sums.terms(item.outs[0]))
            if len(terms) > 1:
                yield from _merged(terms)
                yield from _absorbed(terms, sums)


def _merged(terms: Sequence[_Term]) -> Iterator[Saving]:
    """Terms of one form that share their left factor, or their right one: the greatest stays."""
    left = list(terms)
    for side in (0, 1):
        groups: dict[object, list[_Term]] = {}
        for term in left:
            groups.setdefault(_form(term, side), []).append(term)
        left = []
        for group in groups.values():
            if len(group) == 1:
                left += group
                continue
            macs = [t.cost.work.macs for t in group if t.cost.work is not None]
            members = frozenset(id(t.cost) for t in group)
            yield Saving(group[-1].cost, members, sum(macs) - max(macs))


def _form(term: _Term, side: int) -> object:
    """Equal for terms whose products differ in one factor only."""
    item = term.item
    shared = item.operands[side].value
    axes = tuple(_axes_key(o.axes) for o in item.operands[:2])
    limits = tuple(id(o.within) if o.within is not None else None for o in item.operands[:side])
    return (term.path, shared, axes, item.ranks, _axes_key(item.out_axes[0]), limits)


def _axes_key(axes: Sequence[Axis]) -> object:
    return tuple(map(_axis_key, axes))


def _axis_key(axis: Axis) -> object:
    if isinstance(axis, Along | Fixed):
        return axis
    if isinstance(axis, Table):
        return ("table", axis.rank, axis.table.tobytes())
    if isinstance(axis, Taps):
        return ("taps", axis.rank, axis.tap, axis.table.tobytes())
    return "whole"


def _absorbed(terms: Sequence[_Term], sums: _Sums) -> Iterator[Saving]:
    """``x @ w + (x @ a) @ b`` as ``x @ (w + a @ b)``, where that is less."""
    products = [plain_product(t.cost, sums.lifted, sums.found) for t in terms]
    for outer, term in zip(products, terms, strict=True):
        if outer is None:
            continue
        for inner, side in ((outer.left, 0), (outer.right, 1)):
            made = sums.costs.get(inner)
            child = None if made is None else plain_product(made, sums.lifted, sums.found)
            if made is None or child is None or len(sums.readings.get(inner, ())) != 1:
                continue
            shared = child.left if side == 0 else child.right
            others = [p for p in products if p is not None and p is not outer]
            if any((p.left, p.right)[side] == shared and p.batch == outer.batch for p in others):
                saved = _spent(outer) + _spent(child) - _joined(outer, child, side)
                if saved > 0:
                    yield Saving(term.cost, frozenset({id(term.cost), id(made)}), saved)
                    break


def _spent(product: Product) -> int:
    return product.batch * product.rows * product.inner * product.columns


def _joined(outer: Product, child: Product, side: int) -> int:
    """Multiply-adds of the two factors that are left once the shared one is taken out."""
    if side == 0:
        return outer.batch * child.inner * child.columns * outer.columns
    return outer.batch * outer.rows * outer.inner * child.inner
