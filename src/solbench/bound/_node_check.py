"""Does the lifted graph mean what the calls do? Every distinct call is tried on a small instance.

Two tests of a call's lifted form against the call itself: elements of its operands are changed, and only
outputs that the access maps connect with them may change; and every contraction is computed from its lifted
form and compared with the call's result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from solbench.bound._instances import KEPT_SIZE, Unit, instance, reduced, unit_key
from solbench.bound._interpret import TooLarge
from solbench.bound._lift import LiftedGraph, Step, lift
from solbench.bound._lifted import Map, Reshape
from solbench.bound._trial import WRONG, Trial
from solbench.bound.graph import Node
from solbench.errors import VerificationError

LONGEST_UNIT = 8
"""Calls that one lifted node may look through."""


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """How many calls were tried."""

    checked: int
    total: int
    """Distinct calls with a lifted form."""
    skipped: tuple[str, ...]
    """``aten.foo.default: reason``, each once."""

    @property
    def complete(self) -> bool:
        return self.checked == self.total


def check_nodes(graph_lifted: LiftedGraph) -> NodeCheck:
    """Try every distinct call of a lifted graph.

    Raises
    ------
    VerificationError
        The lifted form of a call contradicts the call; the message names both.
    """
    steps = _steps_by_node(graph_lifted)
    seen: set[object] = set()
    checked, skipped = 0, Counter[str]()
    for node in graph_lifted.lifted_nodes:
        if _made_from_nothing(node):
            continue
        unit = _unit(node, steps[id(node)], graph_lifted)
        if isinstance(unit, str):
            skipped[f"{node.op}: {unit}"] += 1
            continue
        key = unit_key(unit)
        if key is not None and key in seen:
            continue
        seen.add(key)
        problem = _verdict(unit)
        if problem.startswith(WRONG):
            where = f" ({node.location})" if node.location else ""
            text = problem.removeprefix(WRONG)
            raise VerificationError(
                f"the rule of {node.op}{where} is wrong: {text}; correct its access maps"
            )
        if problem:
            skipped[f"{node.op}: {problem}"] += 1
        else:
            checked += 1
    return NodeCheck(checked, checked + sum(skipped.values()), tuple(sorted(skipped)))


def _steps_by_node(lifted: LiftedGraph) -> dict[int, list[Step]]:
    result: dict[int, list[Step]] = {id(node): [] for node in lifted.lifted_nodes}
    for step in lifted.steps:
        result.setdefault(id(step.node), []).append(step)
    return result


# ---- units ----


def _made_from_nothing(node: Node) -> bool:
    """Whether there is nothing to read: a fill, a count, memory as it was found."""
    return "empty" in node.op or not any(True for _ in node.refs())


def _unit(node: Node, steps: list[Step], lifted: LiftedGraph) -> Unit | str:
    """The call, with those before it that its lifted form reads past; or why there is none."""
    own = {lifted.resolve(ref) for ref in node.refs()}
    read = _values_read(steps, own, lifted)
    # it may read past a call before it, or make anew what that call made
    for stop in (own,) if read == own or not steps else (read, own):
        nodes: list[Node] = []
        leaves: dict[int, None] = {}
        if _collect(node, stop, lifted, nodes, leaves):
            break
    else:
        return "its lifted form spans too many calls"
    values = tuple(lifted.graph.values[leaf] for leaf in leaves)
    scalars = {
        v.id: content
        for v in values
        if v.numel == 1
        and (content := lifted.content(v.id)) is not None
        and (v.dtype.is_floating_point or abs(int(content)) <= KEPT_SIZE)
    }
    return Unit(tuple(nodes), values, scalars)


def _values_read(steps: Iterable[Step], own: set[int], lifted: LiftedGraph) -> set[int]:
    """Values of the program that the lifted form of a call reads; a change of shape does not count."""
    read: set[int] = set()
    reshaped: set[int] = set()
    for step in steps:
        if isinstance(step.lifted, Map):
            values = (operand.value for operand in step.lifted.operands)
            read.update(v for v in values if v in own or v in lifted.graph.values)
        else:
            reshaped.add(step.lifted.value)
    for value in own:
        maker = lifted.maker.get(value)
        source = maker.value if isinstance(maker, Reshape) else value
        if value in reshaped or source in reshaped or source in read:
            read.add(value)
            if source != value:
                read.discard(source)
    return read


def _collect(
    node: Node, stop: set[int], lifted: LiftedGraph, nodes: list[Node], leaves: dict[int, None]
) -> bool:
    """Nodes in execution order, down to the values in ``stop``."""
    if len(nodes) >= LONGEST_UNIT:
        return False
    for ref in node.refs():
        if any(ref in earlier.outputs for earlier in nodes):
            continue
        maker = lifted.producer.get(ref)
        if lifted.resolve(ref) in stop or maker is None or not any(True for _ in maker.refs()):
            leaves.setdefault(ref)
        elif not _collect(maker, stop, lifted, nodes, leaves):
            return False
    nodes.append(node)
    return True


# ---- one unit ----


class _Keyed:
    """A unit that equals every unit which is lifted in the same way: a key for the cache."""

    def __init__(self, key: object, unit: Unit) -> None:
        self.unit = unit
        self._key = key if key is not None else object()

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self._key == other._key


def _verdict(unit: Unit) -> str:
    """Empty if the unit was tried and is right; else what is wrong, or why it was not tried."""
    reason = "no small instance that it accepts"
    for candidate in reduced(unit):
        problem = _tried(_Keyed(unit_key(candidate), candidate))
        if not problem or problem.startswith(WRONG):
            return problem
        reason = problem
    return reason


@lru_cache(maxsize=8192)
def _tried(keyed: _Keyed) -> str:
    small = instance(keyed.unit)
    if small is None:
        return "no small instance that it accepts"
    lifted = lift(small.graph)
    if lifted.unknown or any(o in lifted.opaque for _, o in small.graph.outputs):
        return "no rule for it at small sizes"
    try:
        return Trial(small, lifted).problem()
    except TooLarge:
        return "too large to be interpreted"
