"""Quantities for T_attainable, an estimate: what ordinary fusion cannot keep on chip, and least launches."""

from __future__ import annotations

from solbench.bound._demand import Demanded
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape


def intermediate_bytes(lifted: LiftedGraph, found: Demanded) -> int:
    """Results of contractions that another contraction reads through its own shape again.

    Such a result is usually written and read back; scores of attention, which a softmax consumes, are not.
    """
    made = _contracted(found)
    softened = _through_lines(lifted)
    outputs = {lifted.resolve(v) for _, v in lifted.graph.outputs}
    total = 0
    for value in made - softened - outputs:
        region = found.need.get(value)
        if region is not None:
            total += 2 * region.count() * lifted.values[value].dtype.itemsize
    return total


def _contracted(found: Demanded) -> set[int]:
    return {
        cost.step.lifted.outs[0]
        for cost in found.costs
        if isinstance(cost.step.lifted, Map) and cost.work is not None and cost.work.macs
    }


def _through_lines(lifted: LiftedGraph) -> set[int]:
    """Values from which a coupled node (a softmax) is computed, back to the contraction."""
    result: set[int] = set()
    for step in reversed(lifted.steps):
        item = step.lifted
        if isinstance(item, Reshape):
            if item.out in result:
                result.add(item.value)
        elif (item.coupled or any(o in result for o in item.outs)) and not item.contracts:
            result.update(o.value for o in item.operands)
    return result


def launches(lifted: LiftedGraph, found: Demanded) -> int:
    """Length of the longest chain of dependent contractions, at least 1; a softmax keeps one open."""
    made = _contracted(found)
    softened = _through_lines(lifted)
    depth: dict[int, int] = {}
    longest = 1
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Reshape):
            depth[item.out] = depth.get(item.value, 0)
            continue
        below = max((depth.get(o.value, 0) for o in item.operands), default=0)
        for out in item.outs:
            depth[out] = below + (out in made and out not in softened)
            longest = max(longest, depth[out])
    return longest
