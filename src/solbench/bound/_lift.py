"""The forward pass: every distinct call once, lifted, with the facts of every value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from solbench.bound import _access, _facts, _pins, _precision, _region, _reps, _sets
from solbench.bound._lifted import Alias, Facts, Lifted, Map, Pin, Reshape
from solbench.bound._replay import call_node
from solbench.bound._reps import CONST, Rep
from solbench.bound._stated import Stated, TwoValued, pin_of, state
from solbench.bound.graph import ABSENT, Graph, Node, Ref, Value
from solbench.bound.rules._base import Call, MissingRule, find

FOLDED_ELEMENTS = 1 << 20
"""Largest tensor that is computed here because the capture did not keep it."""
COMPARED_ELEMENTS = 1 << 18
"""Largest tensor of indices whose slices are compared."""
_CHECKS = ("_assert", "_linalg_check", "record_stream", "is_same_size", "_has_same_storage_numel")
"""Calls without a result that only guard, or compare shapes: no kernel must make them."""
_RANDOM = ("rand", "bernoulli", "dropout", "multinomial", "normal", "uniform", "exponential")


@dataclass(slots=True)
class Step:
    """One lifted node and the call that it came from."""

    lifted: Map | Reshape
    node: Node


@dataclass(slots=True)
class LiftedGraph:
    """The lifted program in execution order, with what is known of each value."""

    graph: Graph
    values: dict[int, Value]
    facts: dict[int, Facts] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    stands_for: dict[int, int] = field(default_factory=dict)
    """Value → the value that is identical to it and computed first."""
    maker: dict[int, Map | Reshape] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    """Op without a rule → where it is first called."""
    decisions: list[int] = field(default_factory=list)
    """Values that the program itself looked at (``.item()``): a kernel must read them too."""
    removed_by_hidden: list[Node] = field(default_factory=list)
    """Calls with a mask whose contents are too large to keep: what it might remove is not counted."""
    data: set[int] = field(default_factory=set)
    """Values whose contents are data and not structure, although they may be known."""
    producer: dict[int, Node] = field(default_factory=dict)
    """Value → the call that made it."""
    _folded: dict[int, torch.Tensor | None] = field(default_factory=dict)
    opaque: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Value made by an op without a rule → (op, location)."""
    shared: dict[object, object] = field(default_factory=dict)
    """What rules keep for later calls."""
    repeated: list[Node] = field(default_factory=list)
    """Calls whose result was computed before."""
    stated: dict[int, Stated] = field(default_factory=dict)
    """Hidden values that can be said in two values and a box."""
    packed: set[int] = field(default_factory=set)
    """Data of one byte an element, and what is made of it: quantised numbers."""
    separable: set[tuple[int, int, int, str, int]] = field(default_factory=set)
    """What numbers of known tables say (see ``_prefix_factors``): value, its dimensions of row and column, the
    question, the mask."""
    lifted_nodes: list[Node] = field(default_factory=list)
    """Calls that a rule has lifted, each distinct one once."""

    def resolve(self, value: int) -> int:
        return self.stands_for.get(value, value)

    def content(self, value: int) -> torch.Tensor | None:
        """Known contents of a value."""
        for source in (self.graph.constants, self.graph.known):
            if value in source:
                return source[value]
        return None

    def folded(self, value: int) -> torch.Tensor | None:
        """Known contents, or those that follow from known contents of the operands."""
        found = self.content(value)
        if found is None and value not in self._folded:
            self._folded[value] = self._fold(value)
        return found if found is not None else self._folded[value]

    def _fold(self, value: int) -> torch.Tensor | None:
        node = self.producer.get(value)
        if node is None or self.values[value].numel > FOLDED_ELEMENTS:
            return None
        if any(word in node.op for word in _RANDOM) or not any(True for _ in node.refs()):
            return None
        operands = {ref: self.content(ref) for ref in node.refs()}
        operands |= {r: self._folded.get(r) for r, c in operands.items() if c is None}
        if any(c is None for c in operands.values()):
            return None
        known = {r: c for r, c in operands.items() if c is not None}
        results = call_node(node, known.__getitem__, self.values)
        return dict(zip(node.outputs, results, strict=True)).get(value)

    def hides(self, value: int, node: Node) -> bool:
        """Whether a value is a mask too large to keep; the call that it governs is noted."""
        found = value in self.graph.hidden and value not in self.data
        found = found and value not in self.stated
        if found:
            self.removed_by_hidden.append(node)
        return found

    def structure(self, value: int) -> torch.Tensor | None:
        """Known contents that say which work is needed."""
        return None if value in self.data else self.folded(value)


def lift(graph: Graph) -> LiftedGraph:
    """Lift a captured graph."""
    result = LiftedGraph(graph, dict(graph.values))
    _place_inputs(result)
    for value in graph.constants:
        result.facts[value] = _of_constant(result, value)
    seen: dict[object, tuple[int, ...]] = {}
    for node in graph.nodes:
        if not any(True for _ in node.results()):
            if not node.op.split(".")[1].startswith(_CHECKS):
                result.decisions += node.refs()
            continue
        key = _call_key(node, result)
        if key is not None and key in seen:
            result.stands_for.update(
                {new: result.resolve(old) for new, old in zip(node.outputs, seen[key], strict=True)}
            )
            result.repeated.append(node)
            continue
        if key is not None:
            seen[key] = node.outputs
        _lift_call(node, result)
    return result


def _place_inputs(result: LiftedGraph) -> None:
    """Inputs that are the same elements of one storage become one value."""
    layouts: dict[object, int] = {}
    for value_id in result.graph.inputs.values():
        value = result.values[value_id]
        layout = (value.storage, value.storage_offset, value.shape, value.stride, value.dtype)
        first = layouts.setdefault(layout, value_id)
        if first != value_id:
            result.stands_for[value_id] = first
            continue
        content = result.content(value_id)
        precision = _precision.of_dtype(value.dtype)
        if not _is_mask(value, content):
            result.data.add(value_id)
            if value.dtype.itemsize == 1 and value.dtype is not torch.bool:
                result.packed.add(value_id)
            content = None
        same = _equal_slices(result.content(value_id)) or _strided(value)
        result.facts[value_id] = Facts(
            precision, same, base=value_id, changed=_region.empty(value.shape),
            pin=_pins.of_content(content) if content is not None else None,
        )  # fmt: skip


def _is_mask(value: Value, content: torch.Tensor | None) -> bool:
    """Whether an input's contents say which work is needed: booleans, or wide integers of 0 and 1.

    A mask need not have structure: a kernel may gather the few keys that a scattered mask leaves to a group
    of queries. Other integers are indices (rules ask for them by name) or quantised data, whose zeros are
    chance.
    """
    if content is None or content.numel() > _sets.DENSE_LIMIT:
        return False
    if value.dtype is torch.bool:
        return True
    wide = value.dtype in (torch.int32, torch.int64)
    return wide and bool(((content == 0) | (content == 1)).all())


def _strided(value: Value) -> tuple[Rep, ...]:
    """Dimensions of stride 0 hold the same elements at every index."""
    return tuple(
        CONST if s == 0 else None
        for s in (value.stride if len(value.stride) == len(value.shape) else value.shape)
    )


def _equal_slices(content: torch.Tensor | None) -> tuple[Rep, ...] | None:
    """Which slices of known indices are equal: what is gathered by them is equal too."""
    if content is None or content.dtype not in (torch.int32, torch.int64):
        return None
    if not 1 < content.numel() <= COMPARED_ELEMENTS:
        return None
    grid = content.to(torch.int64).cpu().numpy()
    return tuple(_reps.along(grid, axis) for axis in range(grid.ndim))


def _of_constant(result: LiftedGraph, value_id: int) -> Facts:
    content = result.graph.constants[value_id]
    value = result.values[value_id]
    same = _equal_slices(content) or _strided(value)
    return Facts(_precision.of_content(content), same, _pins.of_content(content))


def _call_key(node: Node, result: LiftedGraph) -> object | None:
    """Identity of a call; ``None`` if two equal calls may differ."""
    name = node.op.split(".")[1]
    if any(word in name for word in _RANDOM):
        return None
    try:
        key = (node.op, tuple((k, _freeze(v, result)) for k, v in node.args.items()))
        hash(key)
    except TypeError:
        return None
    return key


def _freeze(argument: Any, result: LiftedGraph) -> object:
    if isinstance(argument, Ref):
        return ("value", result.resolve(argument.id))
    if isinstance(argument, tuple | list):
        return tuple(_freeze(a, result) for a in argument)
    if isinstance(argument, bool | int | float):
        return (type(argument).__name__, repr(argument))
    return argument


def _call(node: Node, result: LiftedGraph) -> Call:
    return Call(
        node, result.values, result.folded, result.structure, result.resolve, result.maker,
        result.shared, result.hides, result.stated.get,
    )  # fmt: skip


def _lift_call(node: Node, result: LiftedGraph) -> None:
    result.producer.update(dict.fromkeys(node.results(), node))
    for out in node.results():
        if not result.values[out].dtype.is_floating_point:
            result.folded(out)
    result.data.update(_data_results(node, result))
    rule = find(node.op)
    call = _call(node, result)
    try:
        lifted: Iterable[Lifted] = () if rule is None else list(rule(call))
    except (MissingRule, ArithmeticError, LookupError, TypeError, ValueError):
        # a rule that fails on unforeseen arguments must not stop the others: the op counts as unknown
        rule, lifted = None, ()
    if rule is None:
        _unknown(node, result)
        return
    result.lifted_nodes.append(node)
    for item in lifted:
        _place(item, node, result)
    _complete(node, result)
    _state(node, result)


def _state(node: Node, result: LiftedGraph) -> None:
    """A mask too large to keep, as two values and a box, and what is known of it by that."""
    out = node.outputs[0]
    if out == ABSENT or out not in result.graph.hidden or out in result.data:
        return
    stated = state(node, result)
    if stated is None:
        return
    result.stated[out] = stated
    facts = result.facts.get(out)
    if facts is None or not isinstance(stated, TwoValued):
        return
    pin = pin_of(stated, result.values[out].shape)
    if pin is not None:
        result.facts[out] = replace(facts, pin=Pin(*pin))


def _data_results(node: Node, result: LiftedGraph) -> Iterable[int]:
    """Results that are data because an operand is; the truth values of a comparison are structure."""
    refs = {result.resolve(r) for r in node.refs()}
    if not refs & result.data:
        return ()
    if refs & result.packed:
        result.packed.update(node.results())
    elif all(
        result.values[o].dtype is torch.bool and o in result.graph.hidden for o in node.results()
    ):
        return ()  # a mask made of known lengths or positions, though too large to keep
    return [o for o in node.results() if not _is_mask(result.values[o], result.content(o))]


def _unknown(node: Node, result: LiftedGraph) -> None:
    for out in node.results():
        value = result.values[out]
        result.facts[out] = Facts(_precision.of_dtype(value.dtype), (None,) * len(value.shape))
        result.opaque[out] = (node.op, node.location)
    call = _call(node, result)
    step = call.everything()
    result.steps.append(Step(step, node))
    for out in node.results():
        result.maker[out] = step


def _place(item: Lifted, node: Node, result: LiftedGraph) -> None:
    if isinstance(item, Alias):
        result.stands_for[item.out] = result.resolve(item.value)
        return
    if isinstance(item, Reshape):
        source = result.resolve(item.value)
        earlier = result.maker.get(source)
        if isinstance(earlier, Reshape):  # two reshapes are one, and there and back is none
            source = earlier.value
        item = Reshape(item.out, source)
        if result.values[item.value].shape == result.values[item.out].shape:
            result.stands_for[item.out] = item.value
            return
        result.facts[item.out] = _facts.of_reshape(item, result.values, result.facts)
        result.maker[item.out] = item
        if item.value in result.packed:
            result.packed.add(item.out)
    else:
        item = _narrowed(_resolved(item, result), result)
        if item.flavour == "picked" and any(o.value in result.packed for o in item.operands[1:]):
            item = replace(item, pin=None)  # which codes stand for zero is chance
        for out, facts in _facts.of_map(item, result.values, result.facts).items():
            result.facts[out] = facts
            result.maker[out] = item
    for out in (item.out,) if isinstance(item, Reshape) else item.outs:
        _refine(out, result)
    result.steps.append(Step(item, node))


def _resolved(item: Map, result: LiftedGraph) -> Map:
    """A rule's temporary may stand for an earlier value by now."""
    if all(o.value not in result.stands_for for o in item.operands):
        return item
    return replace(
        item, operands=tuple(replace(o, value=result.resolve(o.value)) for o in item.operands)
    )


def _narrowed(item: Map, result: LiftedGraph) -> Map:
    """A write of an updated part back into its tensor changes only what was updated in the part."""
    if item.updates is None or len(item.operands) < 2 or item.operands[0].outside is None:
        return item
    whole, part = item.operands[:2]
    known = result.facts.get(part.value)
    view = result.maker.get(known.base) if known is not None and known.base is not None else None
    if known is None or known.changed is None or not isinstance(view, Map):
        return item
    if not _facts.is_view(view) or view.operands[0].value != whole.value:
        return item
    axes, shape = view.operands[0].axes, result.values[whole.value].shape
    everywhere = _access.pull(_region.full(view.ranks), axes, shape)
    written = _region.of_boxes(shape, [item.updates])
    if len(everywhere.boxes) != 1 or not _region.same(everywhere, written):
        return item
    changed = _access.pull(known.changed, axes, shape)
    if len(changed.boxes) != 1:
        return item
    box = changed.boxes[0]
    rest = tuple(replace(o, within=box) for o in item.operands[1:])
    return replace(item, updates=box, operands=(replace(whole, outside=box), *rest))


def _refine(value_id: int, result: LiftedGraph) -> None:
    """Known contents say more than the op does: zeros of a mask, a table's narrow values."""
    content = result.graph.known.get(value_id)
    if content is None:
        return
    same = _equal_slices(content)
    if same is not None:
        result.facts[value_id] = replace(result.facts[value_id], same=same)
    if value_id in result.data:
        return
    if not (content.is_floating_point() or content.dtype is torch.bool):
        return
    facts = result.facts[value_id]
    pin = _pins.of_content(content) or facts.pin
    result.facts[value_id] = Facts(
        _precision.of_content(content), facts.same, pin, facts.scaled, facts.base, facts.changed
    )


def _complete(node: Node, result: LiftedGraph) -> None:
    """Further names of the result: an in-place call returns what it wrote."""
    for out in node.outputs[1:]:
        if out == ABSENT or out in result.facts or out in result.stands_for:
            continue
        first = node.outputs[0]
        if result.values[out].shape == result.values[first].shape:
            result.stands_for[out] = result.resolve(first)
        else:
            _unknown(node, result)
            return
