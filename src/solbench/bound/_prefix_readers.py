"""Who else needs the pairs, the states, and what is read from states: each is paid for once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from solbench.bound import _network_parts, _prefix_dims
from solbench.bound._access import Along
from solbench.bound._demand import Demanded, StepCost, needed_space, read_region
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._network_parts import Reading
from solbench.bound._prefix_forms import Form

MAX_FOLLOWED = 64
"""Values that are looked at behind or before another one."""

Origin = tuple[int, tuple[tuple[int, int, int], ...]]
"""A value, and the slices that were taken of it."""


class Readers:
    """The forms of a program among everything else that reads what they read."""

    def __init__(self, lifted: LiftedGraph, found: Demanded, forms: Sequence[Form]) -> None:
        self.lifted = lifted
        self.found = found
        self.readings = _network_parts.readings(lifted, found)
        self.between = {v for f in forms if f.pairs is not None for v in f.pairs.path}
        own = {id(c) for f in forms if f.masked for c in _products(f)}
        self.plain = [c for c in found.costs if id(c) not in own and c.work and c.work.macs]
        """Contractions that are no part of a masked form."""
        self.states = Counter(self.state(f) for f in forms)
        self.put_together: dict[frozenset[object], set[int]] = {}
        """The tensors that a contraction multiplies → such contractions."""
        for cost in self.plain:
            self.put_together.setdefault(self._origins(cost), set()).add(id(cost))

    # ---- the pairs ----

    def shared(self, group: Sequence[Form]) -> Fraction:
        """How much of the first product each form of a group may save."""
        others = list(self._others(group))
        if others:
            return Fraction(0) if any(others) else Fraction(1)
        return Fraction(1, len(group)) if all(f.whole for f in group) else Fraction(1)

    def _others(self, group: Sequence[Form]) -> Iterator[bool]:
        """Readers of the pairs that no state can serve: whether each reads all of them."""
        pairs = group[0].pairs
        if pairs is None:
            return
        roots = {id(f.root.step.lifted): f for f in group}
        waiting = [pairs.path[-1]]
        seen = set(waiting)
        while waiting:
            value = waiting.pop()
            for reading in self.readings.get(value, ()):
                node = reading.node
                form = roots.get(id(node))
                if form is not None and form.other != value:
                    continue
                if form is None and isinstance(node, Map) and self._is_gradient(node):
                    continue
                passed = self._passed(node)
                if form is not None or passed is None:
                    yield self._reads_all(reading, value)
                elif passed not in seen and len(seen) < MAX_FOLLOWED:
                    seen.add(passed)
                    waiting.append(passed)

    def _passed(self, node: Map | Reshape | None) -> int | None:
        """The result of a step that hands the pairs on."""
        if isinstance(node, Reshape):
            return node.out
        if node is None or len(node.outs) != 1:
            return None
        return node.outs[0] if node.outs[0] in self.between or _prefix_dims.hands_on(node) else None

    def _is_gradient(self, node: Map) -> bool:
        """Whether two kinds of pairs are multiplied and summed over a position, as for the gradient of a decay.

        The sum is the product of a query (or a key) with its own gradient, which is there already.
        """
        if node.flavour != "product" and not node.contracts:
            return False
        if len(node.operands) != 2 or not all(o.value in self.between for o in node.operands):
            return False
        waiting: list[Map | Reshape] = [node]
        seen = {id(node)}
        while waiting:
            item = waiting.pop()
            if isinstance(item, Map) and _prefix_dims.sums(item):
                continue
            out = item.out if isinstance(item, Reshape) else item.outs[0]
            for reading in self.readings.get(out, ()):
                after = reading.node
                if after is None or len(seen) > MAX_FOLLOWED or not _keeps_pairs(after):
                    return False
                if id(after) not in seen:
                    seen.add(id(after))
                    waiting.append(after)
        return True

    def _reads_all(self, reading: Reading, value: int) -> bool:
        node = reading.node
        if not isinstance(node, Map):
            return True
        operand = node.operands[reading.operand]
        space = needed_space(node, self.found, self.lifted)
        part = read_region(operand, space, self.lifted.values[value].shape)
        return part.count() >= self.found.need[value].count()

    # ---- the states ----

    def column(self, form: Form) -> Fraction:
        """Which share of putting the states together a form pays."""
        state = self.state(form)
        if self.put_together.get(state, set()) - {id(c) for c in _products(form)}:
            return Fraction(0)
        return Fraction(1, self.states[state])

    def row(self, form: Form) -> bool:
        """Whether reading the states costs anything: not if the same rows read another state that is added."""
        if form.pairs is None or form.pairs.row_value is None:
            return True
        query = self.origin(form.pairs.row_value)
        added: set[int] | None = None
        for cost in self.plain:
            if query in self._origins(cost) and all(cost is not c for c in _products(form)):
                added = self._sums_behind(_result(form.root)) if added is None else added
                if added & self._sums_behind(_result(cost)):
                    return False
        return True

    def state(self, form: Form) -> frozenset[object]:
        """Equal for forms whose states are sums of the same products."""
        if form.pairs is None or form.pairs.column_value is None or form.other is None:
            return frozenset((id(form),))
        return frozenset((self.origin(form.pairs.column_value), self.origin(form.other)))

    def _origins(self, cost: StepCost) -> frozenset[object]:
        item = cost.step.lifted
        assert isinstance(item, Map)
        return frozenset(self.origin(o.value) for o in item.operands[:2])

    def origin(self, value: int) -> Origin:
        """The tensor that a value is a view, a cast, or a multiple line by line of."""
        slices: list[tuple[int, int, int]] = []
        for _ in range(MAX_FOLLOWED):
            maker = self.lifted.maker.get(value)
            if isinstance(maker, Reshape):
                value = maker.value
                continue
            operand = None if maker is None else self._main(maker)
            if maker is None or operand is None:
                break
            slices += _slices(operand, maker, self.lifted.values[operand.value].shape)
            value = operand.value
        return value, tuple(slices)

    def _main(self, maker: Map) -> Operand | None:
        if _prefix_dims.hands_on(maker):
            return maker.operands[0]
        if maker.flavour != "product" or len(maker.operands) != 2 or maker.updates is not None:
            return None
        first, second = (self.lifted.values[o.value].numel for o in maker.operands)
        if first == second:
            return None
        return maker.operands[0 if first > second else 1]

    def _sums_behind(self, value: int) -> set[int]:
        """Sums of two terms, of which one is this value but for views and factors."""
        waiting, seen, found = [value], {value}, set()
        while waiting and len(seen) < MAX_FOLLOWED:
            for reading in self.readings.get(waiting.pop(), ()):
                node = reading.node
                if node is None or (isinstance(node, Map) and len(node.outs) != 1):
                    continue
                out = node.out if isinstance(node, Reshape) else node.outs[0]
                if isinstance(node, Map):
                    if _adds(node):
                        found.add(out)
                    elif not _prefix_dims.hands_on(node) and node.flavour not in (
                        "product",
                        "moved",
                    ):
                        continue
                if out not in seen:
                    seen.add(out)
                    waiting.append(out)
        return found


def _products(form: Form) -> list[StepCost]:
    return [form.root] if form.pairs is None else [form.root, form.pairs.cost]


def _result(cost: StepCost) -> int:
    item = cost.step.lifted
    assert isinstance(item, Map)
    return item.outs[0]


def _keeps_pairs(node: Map | Reshape) -> bool:
    """A step that is linear in the pairs, or a mask: what is summed of its result is summed of the pairs."""
    if isinstance(node, Reshape):
        return True
    return (
        len(node.outs) == 1
        and not node.coupled
        and (
            node.linear
            or node.flavour == "product"
            or any(o.within is not None for o in node.operands)
        )
    )


def _adds(node: Map) -> bool:
    return (
        len(node.operands) == 2
        and node.linear
        and node.ops > 0
        and not node.contracts
        and node.flavour in ("offset", "computed")
    )


def _slices(operand: Operand, maker: Map, shape: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    for dim, (axis, size) in enumerate(zip(operand.axes, shape, strict=True)):
        if isinstance(axis, Along) and maker.ranks[axis.rank] < size:
            yield dim, axis.start, axis.step
