"""Contractions of a lifted graph as matrix products, and which of them follow each other on chip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from solbench.bound import _access, _facts
from solbench.bound._access import Along, Axes, Table, Taps
from solbench.bound._demand import Demanded, StepCost
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._result import Chain, Contraction
from solbench.bound._sets import Indices

CLASS_BITS = {
    "bit": 1, "sign": 2, "nvfp4": 4, "int8": 8, "fp8": 8, "fp16": 16, "bf16": 16, "tf32": 19, "fp32": 32,
    "int": 32, "fp64": 64,
}  # fmt: skip
"""Bits that hold a value of the class: tf32 has 1 + 8 + 10."""


@dataclass(slots=True)
class _Origin:
    """The contraction that a value comes from, element by element."""

    index: int
    softmax: bool = False


@dataclass(slots=True)
class _Found:
    lifted: LiftedGraph
    outputs: set[int]
    inputs: set[int]
    contractions: list[Contraction] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    origins: dict[int, _Origin] = field(default_factory=dict)
    results: list[int] = field(default_factory=list)
    chained: set[int] = field(default_factory=set)
    """Contractions that belong to a chain already."""


def contractions(
    lifted: LiftedGraph, demanded: Demanded
) -> tuple[tuple[Contraction, ...], tuple[Chain, ...]]:
    """Every counted contraction in execution order, and the pairs that can share on-chip data."""
    graph = lifted.graph
    found = _Found(
        lifted,
        outputs=_seen_outside(lifted),
        inputs={lifted.resolve(v) for v in graph.inputs.values()},
    )
    counted = {id(c.step): c for c in demanded.costs if c.work is not None and c.work.macs}
    for step in lifted.steps:
        item = step.lifted
        if isinstance(item, Reshape):
            _carry(item.out, [item.value], False, found)
        elif id(step) in counted:
            _add(counted[id(step)], item, found)
        elif not item.contracts:
            for out in item.outs:
                _carry(out, [o.value for o in item.operands], bool(item.coupled), found)
    return tuple(found.contractions), tuple(found.chains)


def _carry(out: int, sources: Iterable[int], coupled: bool, found: _Found) -> None:
    """A value as large as a contraction's result, made from that result alone, is still it."""
    values, size = found.lifted.values, found.lifted.values[out].numel
    same, smaller = [], False
    for source in sources:
        origin = found.origins.get(source)
        if origin is not None and values[source].numel == size:
            same.append(origin)
        smaller |= origin is None and source not in found.inputs and values[source].numel < size
    if same and len({o.index for o in same}) == 1:
        softmax = coupled or any(o.softmax for o in same) or (len(same) > 0 and smaller)
        found.origins[out] = _Origin(same[0].index, softmax)


def _add(cost: StepCost, item: Map, found: _Found) -> None:
    made = _as_product(cost, item, found)
    index = len(found.contractions)
    found.contractions.append(made)
    found.results.append(item.outs[0])
    found.origins[item.outs[0]] = _Origin(index)
    for side, operand in enumerate(item.operands[:2]):
        origin = found.origins.get(operand.value)
        if origin is None or origin.index in found.chained or made.windows:
            continue
        chain = _chain(origin, index, side, found)
        if chain is not None:
            found.chains.append(chain)
            found.chained |= {chain.first, chain.second}
            return


def _chain(origin: _Origin, index: int, side: int, found: _Found) -> Chain | None:
    """Sizes of the pair, if the second product sums over one of the result's ranks and keeps the other."""
    first, second = found.contractions[origin.index], found.contractions[index]
    if found.results[origin.index] in found.outputs or first.windows:
        return None
    rows, middle = (first.rows, first.columns) if side == 0 else (first.columns, first.rows)
    kept, columns = (second.rows, second.columns) if side == 0 else (second.columns, second.rows)
    if (first.batch, rows, middle) != (second.batch, kept, second.inner):
        return None
    return Chain(
        origin.index, index, first.batch, rows, first.inner, middle, columns, origin.softmax
    )


def _as_product(cost: StepCost, item: Map, found: _Found) -> Contraction:
    assert cost.work is not None
    node, lifted = cost.step.node, found.lifted
    left, right = item.operands[:2]
    sides = _ranks(left.axes), _ranks(right.axes)
    kept = {rank for axes in item.out_axes for rank in _ranks(axes)}
    sizes = {"batch": 1, "rows": 1, "columns": 1, "inner": 1}
    for rank, size in enumerate(item.ranks):
        both = rank in sides[0] and rank in sides[1]
        if both:
            sizes["batch" if rank in kept else "inner"] *= size
        elif rank in kept and rank in sides[0] | sides[1]:
            sizes["rows" if rank in sides[0] else "columns"] *= size
    return Contraction(
        node=f"{node.op} ({node.location})" if node.location else node.op,
        **sizes,
        macs=cost.work.macs,
        bits=_bits(item, lifted),
        isolated=_isolated(item, found),
        windows=_windows(item),
    )


def _ranks(axes: Axes) -> set[int]:
    """Ranks that an operand varies along."""
    result: set[int] = set()
    for axis in axes:
        if isinstance(axis, Taps):
            result |= {axis.rank, axis.tap}
        elif isinstance(axis, Along | Table):
            result.add(axis.rank)
    return result


def _windows(item: Map) -> tuple[tuple[int, int, int, int], ...]:
    found = []
    # channels of a group are an index of two ranks too, but groups are a batch, which both operands have
    groups = _ranks(item.operands[0].axes) & _ranks(item.operands[1].axes)
    for operand in item.operands[:2]:
        for axis in operand.axes:
            if isinstance(axis, Taps) and axis.rank not in groups:
                outs, taps = axis.table.shape
                found.append((outs, taps, _step(axis.table.T), _step(axis.table)))
    return tuple(found)


def _step(table: Indices) -> int:
    """Distance of neighbouring entries of a row that both lie inside the tensor; 1 if there are none."""
    before, after = table[:, :-1], table[:, 1:]
    steps = (after - before)[(before >= 0) & (after >= 0)]
    return max(1, int(steps.min())) if steps.size else 1


def _bits(item: Map, lifted: LiftedGraph) -> int:
    """Of an element in the narrowest format: whatever a kernel keeps, it needs no fewer."""
    kept = {r for axes in item.out_axes for r in _ranks(axes)}
    summed = [r for r in range(len(item.ranks)) if r not in kept]
    classes = [
        _facts.contraction_class(o, summed, item, lifted.values, lifted.facts)
        for o in item.operands[:2]
    ]
    written = 8 * lifted.values[item.outs[0]].dtype.itemsize
    return min(written, *(CLASS_BITS[name] for name in classes))


# ---- what every schedule must move ----


def _isolated(item: Map, found: _Found) -> bool:
    """Two different inputs multiplied into an output, one element for one."""
    lifted = found.lifted
    sources = [_input_behind(o, found) for o in item.operands[:2]]
    storages = {lifted.values[s].storage for s in sources if s is not None}
    return len(storages) == 2 and item.outs[0] in found.outputs


def _input_behind(operand: Operand, found: _Found) -> int | None:
    """The input whose elements these are, if none is made from fewer."""
    value, maker, values = operand.value, found.lifted.maker, found.lifted.values
    while value not in found.inputs:
        made = maker.get(value)
        if isinstance(made, Reshape):
            value = made.value
        elif isinstance(made, Map) and len(made.operands) == 1 and not made.ops:
            source = made.operands[0]
            if not _access.is_permutation(source.axes, made.ranks, values[source.value].shape):
                return None
            value = source.value
        else:
            return None
    shape, stride = values[value].shape, values[value].stride
    repeated = any(s == 0 and n > 1 for s, n in zip(stride, shape, strict=True))
    return None if repeated else value


def _seen_outside(lifted: LiftedGraph) -> set[int]:
    """Outputs, and values that only change their shape on the way to one."""
    result = {lifted.resolve(v) for _, v in lifted.graph.outputs}
    for step in reversed(lifted.steps):
        item = step.lifted
        if isinstance(item, Reshape):
            if item.out in result:
                result.add(item.value)
        elif len(item.operands) == 1 and not item.ops and item.outs[0] in result:
            source = item.operands[0]
            shape = lifted.values[source.value].shape
            if _access.is_permutation(source.axes, item.ranks, shape):
                result.add(source.value)
    return result
