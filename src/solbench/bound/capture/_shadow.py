"""Contents of values, computed on demand from the graph that was recorded so far."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

import torch

from solbench.bound._replay import call_node, call_raw, find_operator
from solbench.bound.capture._builder import (
    FROM_INDICES,
    INDEX_DTYPES,
    LARGEST_KNOWN_ELEMENTS,
    GraphBuilder,
)
from solbench.bound.capture._operators import describe
from solbench.bound.graph import ABSENT, Node, Ref, Value
from solbench.errors import CaptureError


class Shadow:
    """Evaluates single values of a graph that is being built, and remembers them."""

    def __init__(
        self, builder: GraphBuilder, leaf: Callable[[int], torch.Tensor], limit_bytes: int
    ) -> None:
        self._builder = builder
        self._leaf = leaf
        """Contents of a value without a producing node."""
        self._limit_bytes = limit_bytes
        self._contents: dict[int, torch.Tensor] = {}
        self.held_bytes = 0
        self._memories: set[int] = set()
        self._same: dict[int, int] = {}
        """Value id → the first value that was computed in the same way."""
        self._computed: dict[Any, tuple[int, ...]] = {}
        """A call on such values → its outputs."""

    def contents(self, value: int) -> torch.Tensor:
        """The contents of a value. Not to be modified.

        Raises
        ------
        CaptureError
            It needs more memory than the limit.
        """
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            self._evaluate(value)
        return self._contents[value]

    def _evaluate(self, value: int) -> None:
        pending = [value]
        while pending:
            current = pending[-1]
            if current in self._contents:
                pending.pop()
                continue
            position = self._builder.producers.get(current)
            if position is None:
                self.hold(current, self._leaf(current))
                continue
            node = self._builder.graph.nodes[position]
            missing = [ref for ref in self._needed(node) if ref not in self._contents]
            if missing:
                pending.extend(missing)
            else:
                self._compute(node)

    def run(self, node: Node) -> Any:
        """Results of a node that is not recorded yet, as the operator returns them."""
        for ref in node.refs():
            self.contents(ref)
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            return call_raw(node, self._contents.__getitem__, self._builder.graph.values)

    def hold(self, value: int, tensor: torch.Tensor) -> None:
        """Remember the contents of a value."""
        self._contents[value] = tensor
        memory = tensor.untyped_storage()
        if memory._cdata not in self._memories:
            # The contents stay as long as this does, so that the address is not used again.
            self._memories.add(memory._cdata)
            self.held_bytes += memory.nbytes()
        if self.held_bytes > self._limit_bytes:
            raise CaptureError(
                f"computing the values it asks for takes more than {self._limit_bytes >> 20} MiB"
            )

    def publish(self, allowed_level: int) -> dict[int, torch.Tensor]:
        """Everything small that does not depend on floating inputs, and the indices asked for."""
        known: dict[int, torch.Tensor] = {}
        for value in self._candidates(min(allowed_level, FROM_INDICES)):
            if self.held_bytes > self._limit_bytes // 2:
                break
            try:
                known[value.id] = self.contents(value.id)
            except CaptureError:
                break
            except RuntimeError:
                # Nobody asked for it, and the CPU has no kernel for it: it stays unknown.
                continue
        return known

    def hidden(self, allowed_level: int, known: Container[int]) -> set[int]:
        """Values that could have been published but for their size, and what is made of them alone."""
        level = min(allowed_level, FROM_INDICES)
        decided = {value for value, own in self._builder.levels.items() if own <= level}
        for node in self._builder.graph.nodes:
            operator = describe(find_operator(node.op))
            if not operator.random and all(ref in decided for ref in self._needed(node)):
                decided.update(node.results())
        return {value for value in decided if value not in known}

    def _candidates(self, level: int) -> Iterator[Value]:
        for value in self._builder.graph.values.values():
            if self._builder.levels[value.id] <= level:
                if value.numel <= LARGEST_KNOWN_ELEMENTS or self._is_cheap(value.id):
                    yield value
            elif value.dtype in INDEX_DTYPES and self._is_at_hand(value):
                yield value

    def _is_at_hand(self, value: Value) -> bool:
        """Computed before, or made of nothing but what was: a view of an index that was asked for."""
        position = self._builder.producers.get(value.id)
        if value.id in self._contents or position is None:
            return value.id in self._contents
        needed = self._needed(self._builder.graph.nodes[position])
        known = all(ref in self._contents for ref in needed)
        return known and value.numel <= LARGEST_KNOWN_ELEMENTS

    def _is_cheap(self, value: int) -> bool:
        position = self._builder.producers.get(value)
        if value in self._contents or position is None:
            return value in self._contents
        return describe(find_operator(self._builder.graph.nodes[position].op)).fills

    def _needed(self, node: Node) -> Iterator[int]:
        """Operands whose contents matter."""
        operator = describe(find_operator(node.op))
        if not (operator.fills or operator.overwrites):
            yield from node.refs()
        elif operator.overwrites:
            yield from (
                ref.id for name, ref in node.args.items() if name != "self" and _is_ref(ref)
            )

    def _compute(self, node: Node) -> None:
        operator = describe(find_operator(node.op))
        values = self._builder.graph.values
        if not operator.random and self._computed_before(node):
            return
        if operator.fills:
            self.hold(node.outputs[0], _filled(node, values[node.outputs[0]]))
            return

        def operand(value: int) -> torch.Tensor:
            held = self._contents.get(value)
            return held if held is not None else _blank(values[value])

        call = _drawn if operator.random else call_node
        results = call(node, operand, values)
        for value, tensor in zip(node.outputs, results, strict=True):
            if value != ABSENT and tensor is not None:
                self.hold(value, tensor)

    def _computed_before(self, node: Node) -> bool:
        """Take over the results of an equal call: every layer makes the same mask."""
        key = (node.op, *(self._frozen(argument) for argument in node.args.values()))
        first = self._computed.setdefault(key, node.outputs)
        if first is node.outputs or any(one not in self._contents for one in first if one >= 0):
            return False
        for old, new in zip(first, node.outputs, strict=True):
            if new != ABSENT:
                self._same[new] = self._same.get(old, old)
                self._contents[new] = self._contents[old]
        return True

    def _frozen(self, argument: Any) -> Any:
        if isinstance(argument, Ref):
            return Ref(self._same.get(argument.id, argument.id))
        if isinstance(argument, tuple):
            return tuple(self._frozen(item) for item in argument)
        # The number 1 equals 1.0 and True, but promotes otherwise.
        return (type(argument), argument)


def _drawn(
    node: Node, operand: Callable[[int], torch.Tensor], values: Mapping[int, Value]
) -> tuple[torch.Tensor | None, ...]:
    """A draw that does not depend on which values were asked for before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(next(node.results()))
        return call_node(node, operand, values)


def _is_ref(argument: Any) -> bool:
    return isinstance(argument, Ref)


def _blank(value: Value) -> torch.Tensor:
    """Stands for a tensor whose contents do not matter; takes no memory."""
    return torch.zeros((), dtype=value.dtype).expand(value.shape)


def _filled(node: Node, value: Value) -> torch.Tensor:
    number = node.args.get("fill_value", 1 if ".ones" in node.op or "new_ones" in node.op else 0)
    return torch.full((), number, dtype=value.dtype).expand(value.shape)
