"""Products that several sums or products read: each reader may multiply in its own best order instead.

``s = q @ k.T`` is read twice in ``(s @ v) / s.sum(-1)``: neither needs it, since ``q @ (k.T @ v)`` and
``q @ k.sum(0)`` cost less for many rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from solbench.bound import _network_parts
from solbench.bound._chains import Saving
from solbench.bound._demand import StepCost
from solbench.bound._lifted import Map, Reshape
from solbench.bound._network_space import TooManyTuples
from solbench.bound._networks import Search

MAX_READERS = 4
"""Most readers of one product that are looked at together."""
MAX_VIEWS = 8
"""Views and factors on the way from a product to its readers."""


def shared_savings(search: Search) -> Iterator[Saving]:
    """Savings of products that are not needed as such by any of their readers."""
    for value, cost in list(search.costs.items()):
        if cost.work is None or not cost.work.macs:
            continue
        found = _readers(value, search)
        if found is None:
            continue
        readers, passed = found
        if 1 < len(readers) <= MAX_READERS:
            search.opened = passed
            saving = _without(cost, readers, search)
            search.opened = frozenset()
            if saving is not None:
                yield saving


def _readers(value: int, search: Search) -> tuple[list[StepCost], frozenset[int]] | None:
    """The products and sums that read a value through views and factors alone, and what lies between."""
    waiting, passed = [value], {value}
    readers: list[StepCost] = []
    while waiting:
        for reading in search.readings.get(waiting.pop(), ()):
            node = reading.node
            if node is None or len(passed) > MAX_VIEWS:
                return None
            out = node.out if isinstance(node, Reshape) else node.outs[0]
            if isinstance(node, Map):
                if node.contracts or _network_parts.is_sum(node):
                    reader = search.steps.get(out)
                    if reader is None or not _network_parts.is_followed(node):
                        return None
                    readers.append(reader)
                    continue
                if not node.linear or node.coupled or len(node.outs) > 1:
                    return None
                if len(node.operands) > 1 and node.flavour != "product":
                    return None
            passed.add(out)
            waiting.append(out)
    return readers, frozenset(passed)


def _without(cost: StepCost, readers: list[StepCost], search: Search) -> Saving | None:
    """What all readers save together if none of them has the product made."""
    assert cost.work is not None
    try:
        networks = [search.network(r, None, adds=False) for r in readers]
        for network in networks:
            network.weigh()
    except TooManyTuples:
        return None
    if not all(any(s is cost for s in n.steps) for n in networks):
        return None
    spent = sum(n.spent for n in networks) - (len(networks) - 1) * cost.work.macs
    saved = int(spent) - sum(n.direct for n in networks)
    if saved <= 0:
        return None
    members = frozenset({id(cost), *(id(s) for n in networks for s in n.owned)})
    touched = members | {id(s) for n in networks for s in n.steps}
    return Saving(cost, members, saved, touched)
