"""Calls on which a suggested rule is tried: those of a program, at several sizes, with real operands."""

from __future__ import annotations

import random
from collections.abc import Iterator

from solbench.bound._instances import Instance, Unit, instance, resized
from solbench.bound._programs import Program
from solbench.bound.capture import capture
from solbench.bound.graph import Graph, Node
from solbench.errors import InputError

MOST_CALLS = 3
"""Different calls of a program that are tried."""
SIZES_EACH = 4
"""Sets of sizes for each."""
_ATTEMPTS = 40
_LARGEST_SIZE = 9


def sample_calls(program: Program, op: str) -> tuple[Instance, ...]:
    """Small instances of every call of ``op`` in a program: its own sizes where small, and drawn ones.

    Raises ``InputError`` if the program does not call it, or no instance runs.
    """
    graph, _ = capture(program)
    nodes = [node for node in graph.nodes if node.op == op]
    if not nodes:
        called = ", ".join(sorted({node.op for node in graph.nodes})[:12])
        raise InputError(
            f"{program.name} does not call {op}", key="--program", remedy=f"It calls: {called}."
        )
    found = [made for node in nodes[:MOST_CALLS] for made in _at_sizes(node, graph)]
    if len(found) < 2:
        raise InputError(
            f"no small call of {op} could be made from those of {program.name}", key=op
        )
    return tuple(found)


def _at_sizes(node: Node, graph: Graph) -> Iterator[Instance]:
    """Every size that occurs in the call is replaced by one drawn size; the call decides what it accepts."""
    leaves = tuple(graph.values[ref] for ref in dict.fromkeys(node.refs()))
    unit = Unit((node,), leaves, {})
    sizes = sorted({n for value in leaves for n in value.shape if n > 1})
    draws = random.Random(0)
    seen: set[tuple[int, ...]] = set()
    for _ in range(_ATTEMPTS):
        chosen = tuple(draws.sample(range(2, _LARGEST_SIZE + 1), k=min(len(sizes), 8)))
        if len(chosen) < len(sizes) or chosen in seen:
            continue
        seen.add(chosen)
        made = instance(resized(unit, dict(zip(sizes, chosen, strict=True))))
        if made is not None and made.outputs:
            yield made
        if len(seen) >= SIZES_EACH and made is not None:
            return
