"""Quantities for T_attainable, an estimate: what ordinary fusion cannot keep on chip, and least launches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from solbench.bound._access import Along
from solbench.bound._demand import Demanded
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape

WIDE_REDUCTION = 1 << 18
"""Elements behind one output from which on a reduction is spread over several SMs: 1 MiB of fp32 is more than
any SM holds. What depends on its result waits for all of them, so it begins another kernel."""


def intermediate_bytes(lifted: LiftedGraph, found: Demanded) -> int:
    """Results of contractions that another contraction reads through its own shape again.

    Such a result is usually written and read back; scores of attention, which a softmax consumes, are not.
    """
    made = _contracted(found)
    softened = _through_lines(lifted)
    outputs = {lifted.resolve(v) for _, v in lifted.graph.outputs}
    total = 0
    for value in (made & _contracted_again(lifted, made)) - softened - outputs:
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

    def continues(item: Map, result: set[int]) -> bool:
        return (item.coupled or not result.isdisjoint(item.outs)) and not item.contracts

    return _walked_back(lifted, continues)


def _contracted_again(lifted: LiftedGraph, made: set[int]) -> set[int]:
    """Values that a later contraction is computed from."""

    def continues(item: Map, result: set[int]) -> bool:
        return not (result.isdisjoint(item.outs) and made.isdisjoint(item.outs))

    return _walked_back(lifted, continues)


def _walked_back(lifted: LiftedGraph, continues: Callable[[Map, set[int]], bool]) -> set[int]:
    """Operands of the nodes that ``continues`` takes, told what was found so far; views are passed through."""
    result: set[int] = set()
    for step in reversed(lifted.steps):
        item = step.lifted
        if isinstance(item, Reshape):
            if item.out in result:
                result.add(item.value)
        elif continues(item, result):
            result.update(o.value for o in item.operands)
    return result


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where a value is at hand, if every kernel does as much as it can."""

    kernel: int = 0
    """Kernels run before it is, its own included; inputs and their views have none."""
    contracted: bool = False
    """That kernel holds a contraction, whose result the next one needs from everywhere."""
    spread: bool = False
    """The value is a sum over more than one SM holds."""


def launches(lifted: LiftedGraph, found: Demanded) -> int:
    """Least kernels one after the other on the longest path, at least 1.

    A kernel holds any pointwise work and one contraction, or two with a softmax between them. A contraction of
    a contraction's result begins a new one, and so does what follows a reduction over ``WIDE_REDUCTION``.
    """
    made, softened = _contracted(found), _through_lines(lifted)
    stages: dict[int, _Stage] = {}
    longest = 1
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Reshape):
            stages[item.out] = stages.get(item.value, _Stage())
            continue
        if not any(o in found.need and not found.need[o].is_empty for o in item.outs):
            continue
        contracts = item.outs[0] in made
        stage = _next_stage(item, [stages.get(o.value, _Stage()) for o in item.operands], contracts)
        keeps = contracts and item.outs[0] not in softened
        stage = _Stage(stage.kernel, stage.contracted or keeps, _is_spread(item))
        stages.update(dict.fromkeys(item.outs, stage))
        longest = max(longest, stage.kernel)
    return longest


def _next_stage(item: Map, below: list[_Stage], contracts: bool) -> _Stage:
    """The kernel that this node joins, before it has changed anything."""
    works = contracts or item.ops > 0
    kernel = max((s.kernel + (works and s.spread) for s in below), default=0)
    if contracts and any(s.contracted and s.kernel == kernel for s in below):
        return _Stage(kernel + 1)
    held = any(s.contracted and s.kernel == kernel for s in below)
    return _Stage(max(kernel, 1) if works else kernel, held)


def _is_spread(item: Map) -> bool:
    if item.contracts:
        return False
    kept = {a.rank for axes in item.out_axes for a in axes if isinstance(a, Along)}
    summed = [n for r, n in enumerate(item.ranks) if r not in kept or r in item.coupled]
    return len(summed) > 0 and prod(summed) > WIDE_REDUCTION
