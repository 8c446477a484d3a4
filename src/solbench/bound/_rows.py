"""The per-node table: what each operation computes, and which bytes of inputs and outputs it moves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Reshape, einsum
from solbench.bound._result import NodeCost
from solbench.bound._special_functions import special_ops


@dataclass(slots=True)
class _Ends:
    """Values that are an input, or an output, but for views."""

    inputs: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, int] = field(default_factory=dict)


def node_rows(lifted: LiftedGraph, demanded: Demanded) -> tuple[NodeCost, ...]:
    """One row for every operation with work, in execution order."""
    ends = _ends(lifted)
    positions = {id(node): position for position, node in enumerate(lifted.graph.nodes)}
    return tuple(
        replace(_row(cost, lifted, demanded, ends), position=positions.get(id(cost.step.node), -1))
        for cost in demanded.costs
        if cost.work or cost.vector_ops
    )


def _row(cost: StepCost, lifted: LiftedGraph, demanded: Demanded, ends: _Ends) -> NodeCost:
    node, item, work = cost.step.node, cost.step.lifted, cost.work
    assert isinstance(item, Map)  # reshapes cost nothing and are never listed
    read, dropped = _bytes_read(item, lifted, demanded, ends)
    points = cost.vector_ops // item.ops if item.ops else 0
    return NodeCost(
        name=node.op.split(".")[1] if node.op.count(".") else node.op,
        op=node.op,
        einsum=einsum(item),
        location=node.location,
        matrix_flops=work.flops if work else 0,
        vector_ops=cost.vector_ops,
        precision=work.precision if work and work.macs else "",
        special_ops=special_ops(node.op, item, points, lifted.values),
        bytes_read=read,
        bytes_dropped=dropped,
        dropped_reason="" if not dropped else _why(read),
        bytes_written=_bytes_written(item, lifted, demanded, ends),
    )


def _why(read: int) -> str:
    return "only what outputs depend on is read" if read else "no output depends on it"


def _ends(lifted: LiftedGraph) -> _Ends:
    """Follow views, which have no row of their own, from the inputs down and from the outputs up."""
    ends = _Ends()
    for value in lifted.graph.inputs.values():
        ends.inputs[lifted.resolve(value)] = lifted.resolve(value)
    for out, source in _views(lifted):
        if source in ends.inputs:
            ends.inputs[out] = ends.inputs[source]
    for _, value in lifted.graph.outputs:
        ends.outputs[lifted.resolve(value)] = lifted.resolve(value)
    for out, source in reversed(list(_views(lifted))):
        if out in ends.outputs and source not in ends.inputs:
            ends.outputs.setdefault(source, ends.outputs[out])
    return ends


def _views(lifted: LiftedGraph) -> Iterator[tuple[int, int]]:
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Reshape):
            yield item.out, item.value
        elif len(item.operands) == 1 and not item.ops:
            yield item.outs[0], item.operands[0].value


def _bytes_read(item: Map, lifted: LiftedGraph, demanded: Demanded, ends: _Ends) -> tuple[int, int]:
    """(needed, not needed) of the inputs that are operands; an input given twice counts once."""
    read, dropped = 0, 0
    for value in dict.fromkeys(o.value for o in item.operands):
        if value not in ends.inputs:
            continue
        own, source = lifted.values[value], lifted.values[ends.inputs[value]]
        region = demanded.need.get(value)
        needed = 0 if region is None else region.count() * own.dtype.itemsize
        read += needed
        dropped += max(0, source.numel * source.dtype.itemsize - needed)
    return read, dropped


def _bytes_written(item: Map, lifted: LiftedGraph, demanded: Demanded, ends: _Ends) -> int:
    total = 0
    for out in item.outs:
        region = demanded.need.get(out)
        if out in ends.outputs and region is not None:
            total += region.count() * lifted.values[ends.outputs[out]].dtype.itemsize
    return total
