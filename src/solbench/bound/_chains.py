"""Chains of matrix products: the order of multiplication is free, the cheapest one counts.

Between two products of a chain may lie steps that are linear: a scale, a cast, a bias, a change of shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from solbench.bound import _access, _facts, _reps
from solbench.bound._access import Along
from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape

MAX_FACTORS = 12
"""Longest chain that is reordered; the search is cubic in it."""


@dataclass(frozen=True, slots=True)
class Product:
    """A plain product ``ik,kj->ij`` (after batch ranks) of known sizes."""

    cost: StepCost
    left: int
    right: int
    out: int
    batch: int
    rows: int
    inner: int
    columns: int


@dataclass(frozen=True, slots=True)
class _Link:
    """A product that is, but for linear steps, an operand of another one."""

    child: Product
    addend_elements: int
    """Elements that are added on the way: multiplied separately if the chain is reordered."""


@dataclass(slots=True)
class _Chains:
    """The products of a program and how they hang together."""

    lifted: LiftedGraph
    products: dict[int, Product]
    uses: dict[int, int]
    linked: dict[int, tuple[_Link | None, _Link | None]] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)

    def connect(self) -> None:
        """Find the links, in execution order; a chain that would get too long starts anew."""
        for product in self.products.values():
            pair = self.behind(product.left, product), self.behind(product.right, product)
            length = sum(1 if x is None else self.lengths[x.child.out] for x in pair)
            if length > MAX_FACTORS:
                pair, length = (None, None), 2
            self.linked[product.out], self.lengths[product.out] = pair, length

    def behind(self, value: int, parent: Product) -> _Link | None:
        """The product that ``value`` comes from through linear steps that nothing else uses."""
        shape, addends = self.lifted.values[value].shape, 0
        while value not in self.products:
            made = self.lifted.maker.get(value)
            if self.uses.get(value) != 1 or made is None:
                return None
            if isinstance(made, Reshape):
                value = made.value
                continue
            step = self._linear(made, same=self.lifted.values[value].shape == shape)
            if step is None:
                return None
            value, added = step
            addends += added
        child = self.products[value]
        fits = self.uses.get(value) == 1 and self.lifted.values[value].shape == shape
        return _Link(child, addends) if fits and child.batch == parent.batch else None

    def _linear(self, made: Map, *, same: bool) -> tuple[int, int] | None:
        """(operand to go on with, elements added) of one linear step."""
        if not made.linear or made.contracts or made.coupled or len(made.operands) > 2:
            return None
        identity = _access.identity(len(made.ranks))
        if made.out_axes != (identity,):
            return None
        data = [o for o in made.operands if o.axes == identity and o.within is None]
        if len(made.operands) == 1:
            return (data[0].value, 0) if data else None
        if not same or not data:
            return None
        main = next((o for o in data if self._leads_to_product(o.value)), data[0])
        other = next(o for o in made.operands if o is not main)
        if made.flavour == "product":
            return (main.value, 0) if self._scales(other, made) else None
        return main.value, self.lifted.values[other.value].numel

    def _leads_to_product(self, value: int) -> bool:
        while isinstance(made := self.lifted.maker.get(value), Reshape):
            value = made.value
        return value in self.products

    def _scales(self, other: Operand, made: Map) -> bool:
        """Whether a factor is the same for all rows or for all columns."""
        reps = _facts.operand_reps(other, made.ranks, self.lifted.values, self.lifted.facts)
        return any(_reps.is_const(r, n) for r, n in zip(reps[-2:], made.ranks[-2:], strict=True))

    def links(self, product: Product) -> tuple[_Link | None, _Link | None]:
        return self.linked[product.out]

    def factors(self, product: Product) -> list[tuple[int, int]]:
        """(rows, columns) of the factors, from left to right."""
        left, right = self.links(product)
        result = [(product.rows, product.inner)] if left is None else self.factors(left.child)
        if right is None:
            return [*result, (product.inner, product.columns)]
        return result + self.factors(right.child)

    def spent(self, product: Product) -> int:
        """Multiply-adds in the order of the program."""
        own = product.batch * product.rows * product.inner * product.columns
        return own + sum(self.spent(x.child) for x in self.links(product) if x is not None)

    def members(self, product: Product) -> Iterator[int]:
        """``id`` of the costs of all products of a chain."""
        yield id(product.cost)
        for link in self.links(product):
            if link is not None:
                yield from self.members(link.child)

    def separate(self, product: Product) -> int:
        """Multiply-adds for what is added between the products, once the order changes."""
        left, right = self.links(product)
        total = left.addend_elements * product.columns if left else 0
        total += right.addend_elements * product.rows if right else 0
        return total + sum(self.separate(x.child) for x in (left, right) if x is not None)


@dataclass(frozen=True, slots=True)
class Saving:
    """What another order of some contractions saves."""

    root: StepCost
    """The last of them, on which the saving is booked."""
    members: frozenset[int]
    """``id`` of the costs of all that take part in this saving only."""
    macs: int
    touched: frozenset[int] = frozenset()
    """Those and others, of which a part takes part."""


def chain_savings(lifted: LiftedGraph, found: Demanded) -> list[Saving]:
    """Chains of products whose best order takes fewer multiply-adds."""
    products = {p.out: p for c in found.costs if (p := plain_product(c, lifted, found)) is not None}
    chains = _Chains(lifted, products, _uses(lifted, found))
    chains.connect()
    inner = {x.child.out for pair in chains.linked.values() for x in pair if x is not None}
    savings = []
    for product in products.values():
        if product.out in inner or chains.linked[product.out] == (None, None):
            continue
        best = product.batch * _best(chains.factors(product)) + chains.separate(product)
        saved = chains.spent(product) - best
        if saved > 0:
            savings.append(Saving(product.cost, frozenset(chains.members(product)), saved))
    return savings


def plain_product(cost: StepCost, lifted: LiftedGraph, found: Demanded) -> Product | None:
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
        and max(len(rows), len(columns)) == len(summed) == 1
    )
    sizes = item.ranks
    height, width = (prod(sizes[r] for r in group) for group in (rows, columns))  # 1 for a vector
    amount = height * width * sizes[summed[0]] if plain else 0
    count = 1
    for rank in batch:
        count *= sizes[rank]
    if not plain or right != [*batch, *summed, *columns] or cost.work.macs != count * amount:
        return None
    if not found.need[item.outs[0]].is_full:
        return None
    return Product(
        cost, lifted.resolve(first.value), lifted.resolve(second.value), item.outs[0],
        count, height, sizes[summed[0]], width,
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
