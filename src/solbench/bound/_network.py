"""One network of products: its factors, what is added on the way, and what its cheapest order saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from solbench.bound._demand import StepCost
from solbench.bound._lifted import Map
from solbench.bound._network_order import fewest_multiply_adds
from solbench.bound._network_space import Space

MAX_FACTORS = 8
"""Most tensors of a network; the search is exponential in it."""
MAX_WINDOWS = 4
"""Most selections that go through windows: each multiplies the tuples that are listed by its taps."""
MAX_TOGETHER = 9
"""Most tensors and selections of a network."""


@dataclass(frozen=True, slots=True)
class Addend:
    """What is added to a product on the way: once the order changes it is multiplied by the others itself."""

    value: int
    start: int
    """First factor of the product that it is added to."""
    end: int
    """Where that product's factors end."""
    atoms: list[int]
    is_product: bool
    """Whether it comes from a contraction, so that another network follows it."""
    again: bool = False
    """Whether it is the tensor that it is added to, read at other indices: multiplied once for both."""


@dataclass(slots=True)
class Network:
    """What one contraction, or one sum, multiplies."""

    space: Space
    last: Map
    """The contraction, or the sum, that is followed back."""
    shown: list[int]
    factors: list[list[int]] = field(default_factory=list)
    selections: list[list[int]] = field(default_factory=list)
    """Factors that only say which position goes where: multiplying by them is no matrix work."""
    windows_of_last: int = 0
    """Selections through which the last contraction itself reads its operands."""
    crossed_views: bool = False
    """Whether an operand was followed through views, which may repeat elements."""
    added: list[Addend] = field(default_factory=list)
    spent: Fraction = Fraction(0)
    """Multiply-adds in the order of the program."""
    of_last: Fraction = Fraction(0)
    """Those of the last contraction."""
    steps: list[StepCost] = field(default_factory=list)
    owned: list[StepCost] = field(default_factory=list)
    """Those whose results nothing else reads."""
    stopped_at_sum: bool = False
    """Whether something is added on the way that was not crossed."""
    depth: int = 0
    """Steps between the last contraction and the operand that is followed."""
    read_by_others: bool = False
    """Whether something else reads the operand that is followed, or what it was made into: then a contraction
    behind it is done anyway."""
    waiting: int = 0
    """Operands that are still to be followed."""
    picks: tuple[int, ...] = ()
    """Which term to go on with at each addition, in the order in which they are met."""
    picked: list[int] = field(default_factory=list)
    """The terms gone on with so far."""
    other_picks: list[tuple[int, ...]] = field(default_factory=list)
    """Picks that would lead to other products of the same sum."""
    direct: int = 0
    """Multiply-adds of the best order of the factors, without what is added."""
    saved: int = 0
    """Multiply-adds that the best order saves, what is added multiplied apart."""

    @property
    def is_full(self) -> bool:
        tensors = len(self.factors) + self.waiting
        if sum(len(s) > 2 for s in self.selections) >= MAX_WINDOWS:
            return True
        return tensors >= MAX_FACTORS or tensors + len(self.selections) >= MAX_TOGETHER

    @property
    def has_choice(self) -> bool:
        """Whether there is more than one order."""
        if not self.last.contracts:
            return bool(self.steps)
        several = len(self.factors) > 2 or self.crossed_views
        return several or len(self.selections) > self.windows_of_last

    def weigh(self) -> None:
        """Work out what the best order saves."""
        self.direct = int(self.spent)
        if self.has_choice:
            self.direct = self._best(self.factors)
            rest = sum(map(self._apart, self._distinct_addends()))
            self.saved = max(0, int(self.spent) - self.direct - rest)

    def cost_of(self, addend: Addend) -> int:
        """Multiply-adds of what is added, times the factors outside of the product that it is added to."""
        return self._best(
            [*self.factors[: addend.start], addend.atoms, *self.factors[addend.end :]]
        )

    def _apart(self, addend: Addend) -> int:
        """Multiply-adds of what is added, but for those that are done for the factors already."""
        own = self.cost_of(addend)
        return max(0, own - self.direct) if addend.again else own

    def _distinct_addends(self) -> list[Addend]:
        """What is added in the same place, one tensor where one has all the indices of the other."""
        result: list[Addend] = []
        for addend in self.added:
            for place, other in enumerate(result):
                inside = set(addend.atoms) <= set(other.atoms)
                nested = inside or set(other.atoms) <= set(addend.atoms)
                if (other.start, other.end) == (addend.start, addend.end) and nested:
                    result[place] = other if inside else addend
                    break
            else:
                result.append(addend)
        return result

    def _best(self, factors: list[list[int]]) -> int:
        together = [*factors, *self.selections]
        sets = [frozenset(self.space.resolve(f)) for f in together]
        shown = frozenset(self.space.resolve(self.shown))
        return fewest_multiply_adds(sets, shown, self.space.count, selections=len(self.selections))


def saved_together(runs: Sequence[Network], *, all_terms: bool) -> tuple[int, list[Network]]:
    """What the networks of the terms of a sum save together, and which of them do.

    Either some terms go through their own best order and the rest is summed before the last contraction, as in
    the program; or all do, and the last contraction as the program has it is not needed at all. ``all_terms``:
    no term is missing.
    """
    used: list[Network] = []
    taken: set[int] = set()
    apart = all_terms and len(runs) > 1
    for network in sorted(runs, key=lambda r: -r.saved):
        last = network.steps[:1] if network.last.contracts else []
        own = {id(s) for s in network.steps if s not in last}
        apart &= not own & taken
        if not own & taken:
            taken |= own
            used += [network] if network.saved else []
    some = sum(n.saved for n in used)
    whole = _saved_by_all(runs) if apart else 0
    return (whole, list(runs)) if whole > some else (some, used)


def _saved_by_all(runs: Sequence[Network]) -> int:
    """Every term of a sum in its own best order."""
    spent = runs[0].of_last + sum(r.spent - r.of_last for r in runs)
    loose = {a.value: r.cost_of(a) for r in runs for a in r.added if not a.is_product}
    return max(0, int(spent) - sum(r.direct for r in runs) - sum(loose.values()))
