"""Networks of products: contractions, factors and sums that are linear in each other, in any order.

``q @ (c @ w).T`` costs less as ``(q @ w.T) @ c.T`` if there are few queries, also where heads are split off
by a change of shape, sliced, or put beside other columns. A network is what one contraction multiplies,
followed back through everything linear; its cheapest order is what a kernel must do at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from solbench.bound import _facts, _network_parts, _region, _selections
from solbench.bound._access import Along
from solbench.bound._chains import Saving
from solbench.bound._demand import Demanded, StepCost, needed_space, selects
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape
from solbench.bound._network import Addend, Network, saved_together
from solbench.bound._network_parts import Dim, Reading
from solbench.bound._network_space import Space, TooManyTuples
from solbench.bound._network_terms import is_diagonal, largest_term, origin

MAX_TERMS = 8
"""Most terms of a sum that are followed one by one."""
MAX_DEPTH = 48
"""Steps that are followed behind the last contraction."""
MAX_PIECES = 8
"""Most pieces of a concatenation that are looked at one by one."""


@dataclass(slots=True)
class Search:
    """The contractions of a program, and who reads what."""

    lifted: LiftedGraph
    found: Demanded
    costs: dict[int, StepCost]
    """By the value that a contraction makes."""
    readings: dict[int, list[Reading]]
    steps: dict[int, StepCost] = field(default_factory=dict)
    """Contractions and sums, by the value that they make."""
    apart: dict[int, bool] = field(default_factory=dict)
    spread: bool = False
    """Whether a product was spread over a sum of tensors that come from no product."""
    opened: frozenset[int] = frozenset()
    """Values that are followed although several nodes read them."""

    def network(
        self,
        root: StepCost,
        within: tuple[int, range] | None,
        *,
        adds: bool,
        picks: tuple[int, ...] = (),
    ) -> Network:
        """Everything linear behind a contraction or a sum, or behind a part of it along one rank."""
        item = root.step.lifted
        assert isinstance(item, Map)
        self.spread = False
        region, share = root.space, Fraction(1)
        if region is None:
            region = needed_space(item, self.found, self.lifted)
        if within is not None:
            rank, part = within
            whole = _region.full_box(region.shape)
            sets = tuple(part if r == rank else s for r, s in enumerate(whole.sets))
            smaller = region.intersect(_region.Box(sets))
            share = Fraction(smaller.count(), max(region.count(), 1))
            region = smaller
        space = Space(region)
        partial = _network_parts.partial_ranks(region)
        dims = []
        for rank, size in enumerate(item.ranks):
            atom = space.new(size)
            if rank in partial:
                space.ranks[atom] = rank
            span = within[1] if within is not None and within[0] == rank else range(size)
            dims.append(Dim((atom,), exact=len(span) == size, span=span, start=0))
        kept = [a.rank for a in item.out_axes[0] if isinstance(a, Along)]
        network = Network(space, item, [dims[r].atoms[0] for r in kept], picks=picks)
        if root.work is not None:
            network.of_last = root.work.macs * share
            network.spent += network.of_last
            network.steps.append(root)
            network.owned.append(root)
        if item.summed is None:
            self._operands(item, dims, network, adds)
        else:
            self._sum_by_index(item, dims, network, adds)
        return network

    def _operands(self, item: Map, ranks: list[Dim], network: Network, adds: bool) -> None:
        """Follow every operand of a map."""
        network.waiting += len(item.operands)
        for operand in item.operands:
            shape = self.lifted.values[operand.value].shape
            found = _selections.read(operand, item, ranks, shape, network.space)
            network.waiting -= 1
            if found is None:  # read in a way that is not followed: a factor with all its indices
                network.factors.append([a for d in ranks for a in d.atoms])
                continue
            if found.selection:
                network.selections.append(found.selection)
                network.windows_of_last += item is network.last
            self._follow(operand.value, found.dims, network, adds)

    def _follow(self, value: int, dims: list[Dim], network: Network, adds: bool) -> None:
        maker = self.lifted.maker.get(value)
        alone = maker is not None and (
            len(self.readings.get(value, ())) == 1
            or value in self.opened
            or self._read_apart(value)
        )
        others = network.read_by_others
        network.read_by_others |= not alone
        network.depth += 1
        ends = maker is None or network.depth > MAX_DEPTH
        if ends or maker is None or not self._expand(maker, value, dims, network, adds):
            own = network.selections if selects(value, self.lifted) else network.factors
            own.append([a for d in dims for a in d.atoms])
        network.read_by_others = others
        network.depth -= 1

    def _share(self, value: int, dims: list[Dim], space: Space) -> Fraction:
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
        self, maker: Map | Reshape, value: int, dims: list[Dim], network: Network,
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
        linear = maker.linear or maker.updates is not None or _network_parts.is_gather(maker)
        if ranks is None or not linear:
            return False
        if maker.summed is not None:
            return self._sum_by_index(maker, ranks, network, adds)
        if network.read_by_others and not _network_parts.only_moves(maker):
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
        return self._view(maker, ranks, network, adds)

    def _view(self, maker: Map, ranks: list[Dim], network: Network, adds: bool) -> bool:
        """Go on with the one operand that the positions read come from."""
        chosen = _network_parts.only_operand(maker, ranks)
        if chosen is None:
            return False
        source = self.lifted.values[chosen.value].shape
        found = _selections.read(chosen, maker, ranks, source, network.space)
        if found is None:
            return False
        network.crossed_views = True
        if found.selection:
            network.selections.append(found.selection)
        self._follow(chosen.value, found.dims, network, adds)
        return True

    def _sum_by_index(self, maker: Map, ranks: list[Dim], network: Network, adds: bool) -> bool:
        """Go on with what is summed by index; what it is added to is a term of its own."""
        assert maker.summed is not None
        source, base = maker.operands[maker.summed.operand], maker.operands[0]
        zero = _network_parts.is_zero(base.value, self.lifted)
        network.stopped_at_sum |= not zero and not adds
        if network.is_full or not (zero or adds):
            return False
        shape = self.lifted.values[source.value].shape
        found = _selections.summed_by_index(maker.summed, ranks, shape, network.space)
        if found is None:
            return False
        start = len(network.factors)
        network.selections.append(found.selection)
        self._follow(source.value, found.dims, network, adds)
        if not zero:
            self._add(base.value, ranks, start, network)
        return True

    def _contraction(
        self, maker: Map, value: int, dims: list[Dim], ranks: list[Dim], network: Network,
        adds: bool,
    ) -> bool:  # fmt: skip
        """Replace the result of a product, or of a sum, by its operands."""
        cost = self.costs.get(value)
        if network.is_full or not _network_parts.is_followed(maker):
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

    def _addition(self, maker: Map, ranks: list[Dim], network: Network) -> bool:
        """Go on with a term that comes from a product; the other is multiplied by itself."""
        leading = [i for i, o in enumerate(maker.operands) if self._comes_from_product(o.value)]
        if self.spread:
            return False  # of two sums that are multiplied, products of what is not followed would be missing
        if not leading and not network.picked:
            leading = largest_term(maker, self.lifted)
            self.spread = bool(leading)
        if not leading:
            return False
        place = len(network.picked)
        chosen = network.picks[place] if place < len(network.picks) else leading[0]
        if place >= len(network.picks):
            network.other_picks += [(*network.picked, i) for i in leading if i != chosen]
        network.picked.append(chosen)
        main, other = maker.operands[chosen], maker.operands[1 - chosen]
        values, space = self.lifted.values, network.space
        found = [
            _selections.read(o, maker, ranks, values[o.value].shape, space) for o in (main, other)
        ]
        if found[0] is None or found[1] is None:
            return False
        start = len(network.factors)
        network.selections += [f.selection for f in found if f is not None and f.selection]
        network.crossed_views = True
        self._follow(main.value, found[0].dims, network, True)
        again = origin(main.value, self.lifted) == origin(other.value, self.lifted)
        value, dims = self._behind_views(other.value, found[1].dims, network.space)
        self._add(value, dims, start, network, again=again)
        return True

    def _behind_views(self, value: int, dims: list[Dim], space: Space) -> tuple[int, list[Dim]]:
        """The tensor that a value is a view of, and where it is read: a view may repeat elements."""
        while (maker := self.lifted.maker.get(value)) is not None:
            if isinstance(maker, Reshape):
                source = maker.value
                own, shape = (self.lifted.values[v].shape for v in (value, source))
                moved = _network_parts.through_reshape(dims, own, shape, space)
            else:
                ranks = _network_parts.ranks_of(maker, dims) if _facts.is_view(maker) else None
                if ranks is None:
                    break
                source = maker.operands[0].value
                shape = self.lifted.values[source].shape
                found = _selections.read(maker.operands[0], maker, ranks, shape, space)
                moved = None if found is None or found.selection else found.dims
            if moved is None:
                break
            value, dims = source, moved
        return value, dims

    def _add(
        self, value: int, dims: Sequence[Dim], start: int, network: Network, *, again: bool = False
    ) -> None:
        """Note what is added to the product of the factors from ``start`` on."""
        if _network_parts.is_zero(value, self.lifted) or is_diagonal(value, self.lifted):
            return
        atoms = [a for d in dims for a in d.atoms]
        made = self._comes_from_product(value)
        network.added.append(Addend(value, start, len(network.factors), atoms, made, again))

    def _comes_from_product(self, value: int, steps: int = 8) -> bool:
        """Through views, factors and sums."""
        made = self.lifted.maker.get(value)
        if value in self.costs or made is None or not steps:
            return value in self.costs
        if isinstance(made, Reshape):
            return self._comes_from_product(made.value, steps - 1)
        return made.linear and any(
            self._comes_from_product(o.value, steps - 1) for o in made.operands
        )


def searched(lifted: LiftedGraph, found: Demanded) -> Search:
    """What is needed to follow networks."""
    costs = {
        c.step.lifted.outs[0]: c
        for c in found.costs
        if isinstance(c.step.lifted, Map) and c.step.lifted.contracts and c.work is not None
    }
    steps = {c.step.lifted.outs[0]: c for c in found.costs if isinstance(c.step.lifted, Map)}
    return Search(lifted, found, costs, _network_parts.readings(lifted, found), steps)


def network_savings(search: Search) -> list[Saving]:
    """Networks whose best order takes fewer multiply-adds than that of the program."""
    lifted, found = search.lifted, search.found
    inside: set[int] = set()
    result = []
    for cost in reversed(found.costs):
        item = cost.step.lifted
        if id(cost) in inside or not isinstance(item, Map) or not _is_last(cost, item, lifted):
            continue
        saving = _best_saving(cost, item, search)
        if saving is not None:
            inside |= saving.touched
            result.append(saving)
    return result


def _sums_selected(item: Map, lifted: LiftedGraph) -> bool:
    """Whether a known mask says what is summed."""
    return any(selects(o.value, lifted) for o in item.operands[:2])


def _is_last(cost: StepCost, item: Map, lifted: LiftedGraph) -> bool:
    """Whether a network may end here: in a contraction, or in a sum of what contractions made."""
    if item.contracts:
        if cost.space is None or cost.work is None:
            return False
        counted = cost.work.macs > 0 or _sums_selected(item, lifted)
        return counted and _network_parts.is_followed(item)
    if item.summed is not None:
        return True
    return _network_parts.is_sum(item) and _network_parts.is_followed(item)


def _best_saving(cost: StepCost, item: Map, search: Search) -> Saving | None:
    """The greater saving of a network with and without what is added on the way."""
    best: Saving | None = None
    parts = [None] if item.summed is not None else _pieces(item, search)
    for adds in (False, True):
        macs, used, stopped = 0, list[Network](), False
        for part in parts:
            runs, complete = _runs(cost, part, adds, search)
            stopped |= any(r.stopped_at_sum for r in runs)
            saved, own = saved_together(runs, all_terms=complete)
            macs += saved
            used += own
        if macs > (best.macs if best else 0):
            counted = (s for r in used for s in r.steps if s.work is not None and s.work.macs)
            root = cost if item.contracts and cost.work and cost.work.macs else next(counted)
            members = frozenset({id(root), *(id(c) for r in used for c in r.owned)})
            best = Saving(root, members, macs, members | {id(c) for r in used for c in r.steps})
        if not stopped:
            break
    return best


def _runs(
    cost: StepCost, part: tuple[int, range] | None, adds: bool, search: Search
) -> tuple[list[Network], bool]:
    """The network of every term of the sums on the way that comes from a product, and whether these are all."""
    waiting: list[tuple[int, ...]] = [()]
    runs: list[Network] = []
    complete = True
    while waiting and len(runs) < MAX_TERMS:
        try:
            network = search.network(cost, part, adds=adds, picks=waiting.pop(0))
            network.weigh()
        except TooManyTuples:
            complete = False
            continue
        runs.append(network)
        waiting += network.other_picks
    return runs, complete and not waiting


def _pieces(item: Map, search: Search) -> list[tuple[int, range] | None]:
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
