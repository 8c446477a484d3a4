"""Networks of products: contractions, factors and sums that are linear in each other, in any order.

``q @ (c @ w).T`` costs less as ``(q @ w.T) @ c.T`` if there are few queries, also where heads are split off
by a change of shape, sliced, or put beside other columns. A network is what one contraction multiplies,
followed back through everything linear; its cheapest order is what a kernel must do at least.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import prod

from solbench.bound import _access, _network_parts, _region
from solbench.bound._access import Along, Fixed
from solbench.bound._chains import Saving
from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape
from solbench.bound._network_order import Atoms, fewest_multiply_adds
from solbench.bound._network_parts import Dim, Reading
from solbench.bound._region import Region

MAX_FACTORS = 8
"""Largest network; the search is exponential in it."""
MAX_DEPTH = 48
"""Steps that are followed behind the last contraction."""
MAX_PIECES = 8
"""Most pieces of a concatenation that are looked at one by one."""


@dataclass(slots=True)
class _Space:
    """Indices of a network and how many points they span."""

    region: Region
    sizes: dict[int, int] = field(default_factory=dict)
    ranks: dict[int, int] = field(default_factory=dict)
    """Index → rank of the last contraction, for ranks that are not needed in full or under a mask."""
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Index → what it was split into."""
    counted: dict[frozenset[int], int] = field(default_factory=dict)

    def new(self, size: int) -> int:
        atom = len(self.sizes)
        self.sizes[atom] = size
        return atom

    def split(self, atom: int, major: int) -> tuple[int, int] | None:
        """An index as two, the first of size ``major``; nothing if the region does not let it."""
        if atom in self.ranks or self.sizes[atom] % major:
            return None
        pair = self.new(major), self.new(self.sizes[atom] // major)
        self.parts[atom] = pair
        return pair

    def resolve(self, atoms: Iterable[int]) -> Iterator[int]:
        """Indices as they are by now, without those of size 1."""
        for atom in atoms:
            if atom in self.parts:
                yield from self.resolve(self.parts[atom])
            elif self.sizes[atom] != 1:
                yield atom

    def count(self, atoms: Atoms) -> int:
        free = prod(self.sizes[a] for a in atoms if a not in self.ranks)
        bound = frozenset(self.ranks[a] for a in atoms if a in self.ranks)
        if bound not in self.counted:
            shape = self.region.shape
            axes = tuple(Along(r) if r in bound else Fixed() for r in range(len(shape)))
            self.counted[bound] = _access.pull(self.region, axes, shape).count() if bound else 1
        return free * self.counted[bound]


@dataclass(slots=True)
class _Network:
    """What one contraction multiplies."""

    space: _Space
    shown: list[int]
    factors: list[list[int]] = field(default_factory=list)
    added: list[tuple[int, int, list[int]]] = field(default_factory=list)
    """What is added to a product on the way, with the first of the product's factors and the end of them: once
    the order changes it is multiplied by the other factors itself."""
    spent: Fraction = Fraction(0)
    """Multiply-adds in the order of the program."""
    steps: list[StepCost] = field(default_factory=list)
    owned: list[StepCost] = field(default_factory=list)
    """Those whose results nothing else reads."""
    stopped_at_sum: bool = False
    """Whether something is added on the way that was not crossed."""
    depth: int = 0
    """Steps between the last contraction and the operand that is followed."""
    waiting: int = 0
    """Operands that are still to be followed."""

    @property
    def is_full(self) -> bool:
        return len(self.factors) + self.waiting >= MAX_FACTORS

    def saved(self) -> int:
        """Multiply-adds that the best order saves."""
        best = self._best(self.factors)
        for start, end, addend in self.added:
            best += self._best([*self.factors[:start], addend, *self.factors[end:]])
        return max(0, int(self.spent) - best)

    def _best(self, factors: list[list[int]]) -> int:
        sets = [frozenset(self.space.resolve(f)) for f in factors]
        shown = frozenset(self.space.resolve(self.shown))
        return fewest_multiply_adds(sets, shown, self.space.count)


@dataclass(slots=True)
class _Search:
    """The contractions of a program, and who reads what."""

    lifted: LiftedGraph
    found: Demanded
    costs: dict[int, StepCost]
    """By the value that a contraction makes."""
    readings: dict[int, list[Reading]]
    apart: dict[int, bool] = field(default_factory=dict)

    def network(self, root: StepCost, within: tuple[int, range] | None, *, adds: bool) -> _Network:
        """Everything linear behind a contraction, or behind a part of it along one rank."""
        item = root.step.lifted
        assert isinstance(item, Map) and root.space is not None and root.work is not None
        region, share = root.space, Fraction(1)
        if within is not None:
            rank, part = within
            whole = _region.full_box(region.shape)
            sets = tuple(part if r == rank else s for r, s in enumerate(whole.sets))
            smaller = region.intersect(_region.Box(sets))
            share = Fraction(smaller.count(), max(region.count(), 1))
            region = smaller
        space = _Space(region)
        partial = _network_parts.partial_ranks(region)
        dims = []
        for rank, size in enumerate(item.ranks):
            atom = space.new(size)
            if rank in partial:
                space.ranks[atom] = rank
            span = within[1] if within is not None and within[0] == rank else range(size)
            dims.append(Dim((atom,), exact=len(span) == size, span=span))
        kept = [a.rank for a in item.out_axes[0] if isinstance(a, Along)]
        network = _Network(space, [dims[r].atoms[0] for r in kept])
        network.spent += root.work.macs * share
        network.steps.append(root)
        network.owned.append(root)
        self._operands(item, dims, network, adds)
        return network

    def _operands(self, item: Map, ranks: list[Dim], network: _Network, adds: bool) -> None:
        """Follow every operand of a map."""
        network.waiting += len(item.operands)
        for operand in item.operands:
            shape = self.lifted.values[operand.value].shape
            dims = _network_parts.through_axes(operand.axes, ranks, shape, network.space)
            network.waiting -= 1
            if dims is None:  # read in a way that is not followed: a factor with all its indices
                network.factors.append([a for d in ranks for a in d.atoms])
            else:
                self._follow(operand.value, dims, network, adds)

    def _follow(self, value: int, dims: list[Dim], network: _Network, adds: bool) -> None:
        maker = self.lifted.maker.get(value)
        alone = maker is not None and (
            len(self.readings.get(value, ())) == 1 or self._read_apart(value)
        )
        network.depth += 1
        ends = maker is None or not alone or network.depth > MAX_DEPTH
        if ends or maker is None or not self._expand(maker, value, dims, network, adds):
            network.factors.append([a for d in dims for a in d.atoms])
        network.depth -= 1

    def _share(self, value: int, dims: list[Dim], space: _Space) -> Fraction:
        """How much of what is needed of a value is read here."""
        here = space.count(frozenset(space.resolve([a for d in dims for a in d.atoms])))
        return min(Fraction(1), Fraction(here, max(self.found.need[value].count(), 1)))

    def _read_apart(self, value: int) -> bool:
        if value not in self.apart:
            self.apart[value] = _network_parts.read_apart(
                self.readings.get(value, []), self.found, self.lifted
            )
        return self.apart[value]

    def _expand(
        self, maker: Map | Reshape, value: int, dims: list[Dim], network: _Network,
        adds: bool,
    ) -> bool:  # fmt: skip
        """Replace a value by what it is made of; whether that was possible."""
        space, shape = network.space, self.lifted.values[value].shape
        if isinstance(maker, Reshape):
            source = self.lifted.values[maker.value].shape
            moved = _network_parts.through_reshape(dims, shape, source, space)
            if moved is not None:
                self._follow(maker.value, moved, network, adds)
            return moved is not None
        ranks = _network_parts.ranks_of(maker, dims)
        if ranks is None or not (maker.linear or maker.updates is not None):
            return False
        if maker.contracts or _network_parts.is_sum(maker):
            return self._contraction(maker, value, dims, ranks, network, adds)
        if maker.flavour == "product" and len(maker.operands) == 2:
            if network.is_full or not _network_parts.multiplies(maker, self.lifted):
                return False
            self._operands(maker, ranks, network, adds)
            return True
        if len(maker.operands) == 2 and _network_parts.is_addition(maker):
            network.stopped_at_sum |= not adds
            return adds and self._addition(maker, ranks, network)
        chosen = _network_parts.only_operand(maker, ranks)
        if chosen is None:
            return False
        source = self.lifted.values[chosen.value].shape
        through = _network_parts.through_axes(chosen.axes, ranks, source, space)
        if through is None:
            return False
        self._follow(chosen.value, through, network, adds)
        return True

    def _contraction(
        self, maker: Map, value: int, dims: list[Dim], ranks: list[Dim], network: _Network,
        adds: bool,
    ) -> bool:  # fmt: skip
        """Replace the result of a product, or of a sum, by its operands."""
        cost = self.costs.get(value)
        if network.is_full or not _network_parts.is_plain(maker):
            return False
        if maker.contracts and (cost is None or cost.work is None):
            return False
        if cost is not None and cost.work is not None:
            share = self._share(value, dims, network.space)
            network.spent += cost.work.macs * share
            network.steps.append(cost)
            if share == 1:
                network.owned.append(cost)
        for rank, size in enumerate(maker.ranks):
            if not ranks[rank].atoms and size != 1 and _network_parts.summed(maker, rank):
                atom = network.space.new(size)
                ranks[rank] = Dim((atom,), exact=True, span=range(size))
        self._operands(maker, ranks, network, adds)
        return True

    def _addition(self, maker: Map, ranks: list[Dim], network: _Network) -> bool:
        """Go on with the operand that comes from a product; the other is multiplied by itself."""
        leading = [o for o in maker.operands if self._leads_to_product(o.value)]
        if len(leading) != 1:
            return False
        (main,) = leading
        (other,) = (o for o in maker.operands if o is not main)
        values, space = self.lifted.values, network.space
        dims = [
            _network_parts.through_axes(o.axes, ranks, values[o.value].shape, space)
            for o in (main, other)
        ]
        if dims[0] is None or dims[1] is None:
            return False
        start = len(network.factors)
        self._follow(main.value, dims[0], network, True)
        addend = [a for d in dims[1] for a in d.atoms]
        network.added.append((start, len(network.factors), addend))
        return True

    def _leads_to_product(self, value: int) -> bool:
        """Through views alone."""
        while (made := self.lifted.maker.get(value)) is not None and value not in self.costs:
            if isinstance(made, Reshape):
                value = made.value
            elif made.linear and len(made.operands) == 1:
                value = made.operands[0].value
            else:
                return False
        return value in self.costs


def network_savings(lifted: LiftedGraph, found: Demanded) -> list[Saving]:
    """Networks whose best order takes fewer multiply-adds than that of the program."""
    costs = {
        c.step.lifted.outs[0]: c
        for c in found.costs
        if isinstance(c.step.lifted, Map) and c.step.lifted.contracts and c.work is not None
    }
    search = _Search(lifted, found, costs, _network_parts.readings(lifted, found))
    inside: set[int] = set()
    result = []
    for cost in reversed(found.costs):
        item = cost.step.lifted
        if id(cost) in inside or cost.space is None or cost.work is None or not cost.work.macs:
            continue
        if not isinstance(item, Map) or not _network_parts.is_plain(item):
            continue
        saving = _best_saving(cost, item, search)
        if saving is not None:
            inside |= saving.touched
            result.append(saving)
    return result


def _best_saving(cost: StepCost, item: Map, search: _Search) -> Saving | None:
    """The greater saving of a network with and without what is added on the way."""
    best: Saving | None = None
    parts = _pieces(item, search)
    for adds in (False, True):
        macs, steps, owned, stopped = 0, {id(cost)}, {id(cost)}, False
        for part in parts:
            network = search.network(cost, part, adds=adds)
            stopped |= network.stopped_at_sum
            if len(network.factors) > 2:
                saved = network.saved()
                macs += saved
                if saved:
                    steps |= {id(s) for s in network.steps}
                    owned |= {id(s) for s in network.owned}
        if macs > (best.macs if best else 0):
            best = Saving(cost, frozenset(owned), macs, frozenset(steps))
        if not stopped:
            break
    return best


def _pieces(item: Map, search: _Search) -> list[tuple[int, range] | None]:
    """Parts along the one rank along which an operand is put together from pieces."""
    summed_first = sorted(range(len(item.ranks)), key=lambda r: not _network_parts.summed(item, r))
    for rank, size in ((r, item.ranks[r]) for r in summed_first):
        cuts = {0, size}
        for operand in item.operands[:2]:
            for dim, axis in enumerate(operand.axes):
                if isinstance(axis, Along) and axis.identity and axis.rank == rank:
                    cuts |= _network_parts.cuts(operand.value, dim, search.lifted)
        if 2 < len(cuts) <= MAX_PIECES + 1:
            ends = sorted(c for c in cuts if 0 <= c <= size)
            return [(rank, range(a, b)) for a, b in pairwise(ends)]
    return [None]
