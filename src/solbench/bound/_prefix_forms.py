"""Contractions of which one operand is a masked product of two others, times factors: where states may do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from solbench.bound import _pins, _prefix_dims, _prefix_least, _prefix_places
from solbench.bound._access import Along
from solbench.bound._demand import Demanded, StepCost, needed_space
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape
from solbench.bound._prefix_dims import Dim
from solbench.bound._prefix_factors import Factors, call_names
from solbench.bound._prefix_least import Prices
from solbench.bound._prefix_places import Masks, Places
from solbench.bound._region import Box, Region

MAX_DEPTH = 32
"""Calls that are followed from the second product back to the first."""
MAX_SEEN = 64
"""Values that are looked at in search of a first product."""
_MASKS = ("masked_fill", "where", "tril", "triu", "mul")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The first product: what it multiplies, and the way from it to the second one."""

    cost: StepCost
    dims: list[Dim]
    row: list[Dim]
    """Dimensions of what gives the rows; of a factor of both positions only those that are summed."""
    column: list[Dim]
    row_value: int | None
    column_value: int | None
    path: tuple[int, ...]
    """Values from the first product to what the second one reads."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A second product, or a sum over pairs, that may be read from states."""

    root: StepCost
    pairs: Pairs | None
    """Nothing if the pairs are a mask and factors alone: then a running sum does."""
    other: int | None
    """What the pairs are multiplied by."""
    masks: Masks
    masked: bool
    """Whether the mask takes pairs away."""
    shared: Fraction
    """Multiply-adds of the first product that belong to these pairs."""
    whole: bool
    """Whether that is all that is needed of the first product."""
    own: int
    """Multiply-adds of the second product."""
    row: Fraction
    column: Fraction

    @property
    def total(self) -> int:
        return sum(part.total for parts in self.masks for part in parts)

    def saving(self, shared: Fraction, *, row: bool, column: Fraction) -> Fraction:
        """What states save if so much of the first product is not needed otherwise.

        ``row``: whether reading a state costs anything; ``column``: which share of putting it together does.
        """
        total = self.total
        pair = (shared * self.shared + self.own) / total
        prices = Prices(pair, self.row if row else Fraction(0), self.column * column)
        kept = sum(
            (_prefix_least.least(part, prices) for parts in self.masks for part in parts),
            Fraction(0),
        )
        return pair * total - kept


@dataclass(slots=True)
class Forms:
    """The search over all contractions and sums of a program."""

    lifted: LiftedGraph
    found: Demanded
    names: dict[int, str] = field(default_factory=dict)

    def find(self) -> Iterator[Form]:
        """Every form once, the better one where both operands are pairs."""
        self.names = call_names(self.lifted)
        costs = self._products()
        for cost in self.found.costs:
            item = cost.step.lifted
            if not isinstance(item, Map) or len(item.outs) != 1:
                continue
            region = self._region(cost, item)
            if region is None or len(region.boxes) != 1:
                continue
            sides = range(min(2, len(item.operands)))
            made = [
                f for side in sides if (f := self._form(cost, item, region.boxes[0], side, costs))
            ]
            if made:
                yield max(made, key=lambda f: f.saving(Fraction(1), row=True, column=Fraction(1)))

    def _products(self) -> dict[int, StepCost]:
        return {
            c.step.lifted.outs[0]: c
            for c in self.found.costs
            if isinstance(c.step.lifted, Map) and c.work is not None and c.work.macs
        }

    def _region(self, cost: StepCost, item: Map) -> Region | None:
        """What is needed of a contraction, or of a plain sum, without known zeros."""
        if item.contracts:
            counts = cost.work is not None and cost.work.macs > 0
            return cost.space if counts and len(item.operands) == 2 else None
        plain = item.linear and not item.coupled and item.gate is None and item.updates is None
        if not plain or len(item.operands) != 1 or not _prefix_dims.sums(item):
            return None
        space = needed_space(item, self.found, self.lifted)
        pin = _pins.to_space(
            self.lifted.facts[item.operands[0].value].pin, item.operands[0].axes, item.ranks
        )
        if pin is None or pin.value != 0:
            return space
        return None if pin.free is None else space.intersect(pin.free)

    def _form(
        self, cost: StepCost, item: Map, box: Box, side: int, costs: dict[int, StepCost]
    ) -> Form | None:
        if any(o.within is not None or o.outside is not None for o in item.operands):
            return None
        value = item.operands[side].value
        places = _prefix_places.places(item, box, side)
        if places is None or not (places.joint or self._reaches_product(value, costs)):
            return None
        dims = []
        for operand in item.operands:
            sizes = item.ranks, self.lifted.values[operand.value].shape
            dims.append(_prefix_dims.through_axes(operand.axes, places.ranks, sizes, places.space))
        mine, theirs = dims[side], dims[1 - side] if len(dims) > 1 else []
        if mine is None or theirs is None:
            return None
        walk = _Walk(self.lifted, costs, places, Factors(self.lifted, places, self.names))
        pairs = walk.back(value, mine, ())
        alone = item.contracts and places.joint is not None
        if pairs is None and not (alone and walk.is_factor(value, mine)):
            return None
        other = item.operands[1 - side].value if len(item.operands) > 1 else None
        theirs = theirs if other is None else walk.source(other, theirs)
        return self._priced(cost, item, places, pairs, theirs, other)

    def _reaches_product(self, value: int, costs: dict[int, StepCost]) -> bool:
        """A quick look: whether a product lies behind views, masks and factors."""
        waiting, seen = [value], {value}
        while waiting and len(seen) < MAX_SEEN:
            value = waiting.pop()
            maker = self.lifted.maker.get(value)
            if isinstance(maker, Reshape):
                sources = [maker.value]
            elif maker is None or maker.coupled or _prefix_dims.sums(maker):
                if value in costs:
                    return True
                continue
            elif maker.contracts or maker.flavour in ("moved", "product"):
                sources = [o.value for o in maker.operands]
            else:
                continue
            waiting += [v for v in sources if v not in seen]
            seen.update(sources)
        return False

    def _priced(
        self, cost: StepCost, item: Map, places: Places, pairs: Pairs | None,
        theirs: list[Dim], other: int | None,
    ) -> Form | None:  # fmt: skip
        space = places.space
        own = cost.work.macs if cost.work is not None else 0
        row, column, shared, whole = Fraction(0), Fraction(0), Fraction(0), True
        masks = places.masks()
        total = sum(part.total for parts in masks or () for part in parts)
        if masks is None or not total:
            return None
        if pairs is not None:
            assert pairs.cost.work is not None
            rows, columns = places.of(places.rows), places.of(places.columns)
            batch = places.of(places.batch)
            shown = places.of([a.rank for a in item.out_axes[0] if isinstance(a, Along)])
            left, right = space.of(pairs.row), space.of(pairs.column)
            if left & columns or right & rows:
                return None
            inside = right | space.of(theirs)
            state = (inside - columns) & (shown | left)
            apart = rows | columns | batch
            heights = places.together()
            reads = left | state
            row = Fraction(heights[0] * space.count(reads - apart) if reads - shown else 0)
            if item.contracts:
                puts = heights[1] * space.count(inside - apart)
                column = Fraction(puts, space.count(batch - inside))
            here = prod(heights) * total * space.count(space.of(pairs.dims) - apart)
            needed = self.found.need[pairs.cost.step.lifted.outs[0]].count()  # type: ignore[union-attr]
            share = min(Fraction(1), Fraction(here, max(needed, 1)))
            shared, whole = share * pairs.cost.work.macs, share == 1
            if item.contracts and cost.space is not None:
                # sums taken first, or equal slices: states are read and made as seldom
                seldom = min(Fraction(1), Fraction(own, cost.space.count()))
                row, column = row * seldom, column * seldom
        return Form(
            cost, pairs, other, masks, places.joint is not None, shared, whole, own, row, column
        )


@dataclass(slots=True)
class _Walk:
    """The way back from the second product to the first."""

    lifted: LiftedGraph
    costs: dict[int, StepCost]
    places: Places
    factors: Factors
    failed: set[int] = field(default_factory=set)
    """Values behind which no first product was found."""

    def is_factor(self, value: int, dims: Sequence[Dim]) -> bool:
        """Whether a value is a factor of the row times one of the column, and depends on both."""
        return all(self.factors.varies(value, dims)) and self.factors.multiplies(value, dims)

    def back(self, value: int, dims: list[Dim], path: tuple[int, ...]) -> Pairs | None:
        """The first product, if only masks, factors and views lie between."""
        if value in self.failed or len(path) > MAX_DEPTH:
            return None
        found = self._behind(value, dims, (*path, value))
        if found is None:
            self.failed.add(value)
        return found

    def _behind(self, value: int, dims: list[Dim], path: tuple[int, ...]) -> Pairs | None:
        maker = self.lifted.maker.get(value)
        if maker is None:
            return None
        if isinstance(maker, Reshape):
            shape, source = (self.lifted.values[v].shape for v in (value, maker.value))
            moved = _prefix_dims.through_reshape(dims, shape, source, self.places.space)
            return None if moved is None else self.back(maker.value, moved, path)
        ranks = _prefix_dims.of_ranks(maker, dims)
        if ranks is None:
            return None
        if _prefix_dims.sums(maker):
            return self._first(maker, value, dims, ranks, path)
        for index, operand in enumerate(maker.operands):
            if not self._passes(maker, value, index, ranks):
                continue
            read = self.factors.read(operand, maker, ranks)
            found = None if read is None else self.back(operand.value, read, path)
            if found is not None:
                return found
        return None

    def source(self, value: int, dims: list[Dim]) -> list[Dim]:
        """Dimensions of the tensor behind views: one that is repeated for several heads has fewer."""
        while (maker := self.lifted.maker.get(value)) is not None:
            shape, moved = self.lifted.values[value].shape, None
            if isinstance(maker, Reshape):
                source = self.lifted.values[maker.value].shape
                moved = _prefix_dims.through_reshape(dims, shape, source, self.places.space)
                value = maker.value
            elif _prefix_dims.hands_on(maker):
                ranks = _prefix_dims.of_ranks(maker, dims)
                (operand,) = maker.operands
                moved = None if ranks is None else self.factors.read(operand, maker, ranks)
                value = operand.value
            if moved is None:
                break
            dims = moved
        return dims

    def _passes(self, maker: Map, value: int, index: int, ranks: Sequence[Dim]) -> bool:
        """Whether the value is one operand times factors, where it matters."""
        factors, main = self.factors, maker.operands[index]
        name = factors.call(value)
        if maker.updates is None and main.within is None and main.outside is None:
            if len(maker.operands) == 1:
                return maker.linear and maker.flavour in ("moved", "product")
            divides = name in ("div", "divide", "true_divide") and index == 0
            if not (divides or maker.linear) or not (maker.flavour == "product" or maker.contracts):
                return False
            others = [o for o in maker.operands if o is not main]
            read = [factors.read(o, maker, ranks) for o in others]
            return all(
                r is not None and factors.multiplies(o.value, r)
                for o, r in zip(others, read, strict=True)
            )
        pin = self.lifted.facts[value].pin
        masked = name in _MASKS and pin is not None and pin.value == 0
        return masked and factors.kept(maker, ranks) is main

    def _first(
        self, maker: Map, value: int, dims: list[Dim], ranks: list[Dim], path: tuple[int, ...]
    ) -> Pairs | None:
        cost = self.costs.get(value)
        if cost is None or not maker.contracts or len(maker.operands) != 2:
            return None
        space, factors = self.places.space, self.factors
        for rank, size in enumerate(maker.ranks):
            if _prefix_dims.is_summed(maker, rank):
                ranks[rank] = Dim((space.new(size),), exact=True)
        inner = [d for r, d in enumerate(ranks) if _prefix_dims.is_summed(maker, r)]
        row, column = list(inner), list(inner)
        sources: list[int | None] = [None, None]
        for operand in maker.operands:
            read = factors.read(operand, maker, ranks)
            if read is None or operand.within is not None or operand.outside is not None:
                return None
            varies = factors.varies(operand.value, read)
            if all(varies):
                if not factors.multiplies(operand.value, read):
                    return None
            elif any(varies):
                (row if varies[0] else column).extend(self.source(operand.value, read))
                sources[0 if varies[0] else 1] = operand.value
        if self.places.space.of(dims).isdisjoint(factors.columns):
            return None
        return Pairs(cost, dims, row, column, sources[0], sources[1], path)
