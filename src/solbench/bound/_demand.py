"""The backward pass: what the outputs need, node by node, and the work that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from solbench.bound import (
    _access,
    _complex,
    _contraction,
    _facts,
    _few,
    _pins,
    _region,
    _reps,
    _reshape,
    _symmetry,
)
from solbench.bound._access import Along, Fixed, Table, Taps
from solbench.bound._contraction import Pool, Work
from solbench.bound._lift import LiftedGraph, Step
from solbench.bound._lifted import Map, Operand, Reshape
from solbench.bound._region import Region
from solbench.bound.graph import Value


@dataclass(slots=True)
class StepCost:
    """What one lifted node costs, and what a naive count would have said."""

    step: Step
    work: Work | None
    vector_ops: int
    naive_flops: int
    space: Region | None = None
    """Of a contraction: the iteration space that is needed, without known zeros."""


@dataclass(slots=True)
class Demanded:
    """Needed regions by value, and the cost of every node that is needed."""

    need: dict[int, Region] = field(default_factory=dict)
    costs: list[StepCost] = field(default_factory=list)
    unknown_ops: list[str] = field(default_factory=list)
    _wanted: dict[int, list[Region]] = field(default_factory=dict)
    _pools: dict[int, list[Pool | None]] = field(default_factory=dict)

    def want(self, value: int, region: Region, pool: Pool | None = None) -> None:
        """One use of a value."""
        if not region.is_empty:
            self._wanted.setdefault(value, []).append(region)
            self._pools.setdefault(value, []).append(pool)

    def settle(self, value: int, shape: tuple[int, ...]) -> Region:
        """Union of all uses; final once every consumer has been visited."""
        if value not in self.need:
            self.need[value] = _region.unite(shape, self._wanted.pop(value, []))
        return self.need[value]

    def pools(self, value: int) -> list[Pool | None]:
        return self._pools.get(value, [])


def demand(lifted: LiftedGraph) -> Demanded:
    """Walk back from the outputs."""
    result = Demanded()
    for name, value in lifted.graph.outputs:
        resolved = lifted.resolve(value)
        result.want(resolved, output_region(lifted, name, value))
    for value in lifted.decisions:
        resolved = lifted.resolve(value)
        result.want(resolved, _region.full(lifted.values[resolved].shape))
    constants = lifted.graph.constants
    for step in reversed(lifted.steps):
        item = step.lifted
        outs = (item.out,) if isinstance(item, Reshape) else item.outs
        if all(o in constants for o in outs):
            continue
        if isinstance(item, Reshape):
            _visit_reshape(item, lifted, result)
        else:
            _visit_map(item, step, lifted, result)
    for value in lifted.graph.inputs.values():
        if lifted.resolve(value) == value:
            result.settle(value, lifted.values[value].shape)
    result.costs.reverse()
    return result


def output_region(lifted: LiftedGraph, name: str, value_id: int) -> Region:
    """Elements of an output that must be written.

    All of them, but for an input that was updated in place (listed as ``input:NAME``, or returned): only those
    that may have changed.
    """
    value = lifted.values[value_id]
    facts = lifted.facts.get(lifted.resolve(value_id))
    if facts is None or facts.changed is None or facts.base is None:
        return _region.full(value.shape)
    source = lifted.graph.inputs.get(name.removeprefix("input:"))
    if name.startswith("input:"):
        in_place = source is not None and facts.base == lifted.resolve(source)
    else:
        in_place = _lies_in_an_input(facts.base, value, lifted) and not facts.changed.is_empty
    return facts.changed if in_place else _region.full(value.shape)


def _lies_in_an_input(base: int, value: Value, lifted: LiftedGraph) -> bool:
    graph = lifted.graph
    given = {lifted.values[i].storage for i in graph.inputs.values()}
    return lifted.values[base].storage == value.storage and value.storage in given


def _needed(value: int, lifted: LiftedGraph, result: Demanded) -> Region:
    """Needed part of a value, without what is known to be constant."""
    region = result.settle(value, lifted.values[value].shape)
    pin = lifted.facts[value].pin
    if region.is_empty or pin is None:
        return region
    if pin.free is None:
        return _region.empty(region.shape)
    return region.intersect(pin.free)


def needed_space(item: Map, found: Demanded, lifted: LiftedGraph) -> Region:
    """Iteration space of a node that the settled needs of its outputs ask for."""
    return _space(item, [_needed(o, lifted, found) for o in item.outs])


def read_region(operand: Operand, space: Region, shape: tuple[int, ...]) -> Region:
    """What a needed iteration space reads of an operand."""
    return _access.pull(_read(operand, space), operand.axes, shape)


def _visit_reshape(item: Reshape, lifted: LiftedGraph, result: Demanded) -> None:
    region = _needed(item.out, lifted, result)
    source, target = lifted.values[item.value].shape, lifted.values[item.out].shape
    if _decides(item.value, lifted):  # a mask is read also where it says that nothing is to do
        raw = result.settle(item.out, target)
        result.want(item.value, _reshape.through(raw, source))
    if region.is_empty:
        return
    back = _reshape.through(region, source)
    for pool in result.pools(item.out):
        moved = None if pool is None else _reshape.through_reps(pool, target, source)
        result.want(item.value, back, moved)


def _visit_map(item: Map, step: Step, lifted: LiftedGraph, result: Demanded) -> None:
    regions = [_needed(o, lifted, result) for o in item.outs]
    naive = plain_flops(item)
    _want_deciders(item, lifted, result)
    if all(r.is_empty for r in regions):
        if naive:
            result.costs.append(StepCost(step, Work(0, ""), 0, naive))
        return
    for out in item.outs:
        if out in lifted.opaque and lifted.opaque[out][0] not in result.unknown_ops:
            result.unknown_ops.append(lifted.opaque[out][0])
    whole = space = _space(item, regions)
    pools = _merged_pools(item, result)
    work = None
    few = list(_few.chosen(item, lifted.facts))
    if item.contracts:
        whole = space = _contraction.live(item, space, lifted.facts)
        for each in few:
            space = space.intersect(each.box)
        work = _contraction.work(item, space, pools, lifted.values, lifted.facts)
        if any(selects(o.value, lifted) for o in item.operands[:2]) or any(
            lifted.facts[item.operands[f.operand].value].precision == "bit" for f in few
        ):
            work = Work(0, work.precision)
        work = _symmetry.halved(work, item, space, lifted)
        work = _complex.in_real_products(work, item, lifted, result.need)
    vector = _unmasked(item, space, lifted).count() * item.ops if item.ops else 0
    result.costs.append(StepCost(step, work, vector, naive, space if item.contracts else None))
    space = _gated(item, whole, lifted)
    reps: list[list[_reps.Rep]] | None = None
    reduces = item.linear and _reduced(item)
    if reduces or (item.linear and any(p is not None for p in pools)):
        reps = [
            _facts.operand_reps(o, item.ranks, lifted.values, lifted.facts) for o in item.operands
        ]
    for index, operand in enumerate(item.operands):
        part = _read(operand, _where_chosen(space, index, operand, few))
        shape = lifted.values[operand.value].shape
        region = _access.pull(part, operand.axes, shape)
        if reps is None:
            result.want(operand.value, region)
            continue
        for pool in pools:
            others = [r for i, r in enumerate(reps) if i != index]
            result.want(operand.value, region, _pool_back(item, operand, pool, others, lifted))


def _where_chosen(
    space: Region, index: int, operand: Operand, few: Sequence[_few.Chosen]
) -> Region:
    """Points at which an operand meets an element of the other factor that may not be zero."""
    ranks = {r for a in operand.axes for r in _access.ranks_of(a)}
    for each in few:
        if each.operand != index and each.rank in ranks:
            space = space.intersect(each.box)
    return space


def _want_deciders(item: Map, lifted: LiftedGraph, result: Demanded) -> None:
    """Masks and indices made from inputs: a kernel reads them also where they say that nothing is to do."""
    deciding = [o for o in item.operands if _decides(o.value, lifted)]
    if not deciding:
        return
    raw = [result.settle(o, lifted.values[o].shape) for o in item.outs]
    if all(r.is_empty for r in raw):
        return
    space = _space(item, raw)
    for operand in deciding:
        shape = lifted.values[operand.value].shape
        result.want(operand.value, _access.pull(_read(operand, space), operand.axes, shape))


def selects(value: int, lifted: LiftedGraph) -> bool:
    """Whether a factor is known to hold zeros and ones only: it chooses what is summed."""
    return lifted.facts[value].precision == "bit" and lifted.structure(value) is not None


def _decides(value: int, lifted: LiftedGraph) -> bool:
    return value not in lifted.graph.constants and lifted.content(value) is not None


def _space(item: Map, regions: Sequence[Region]) -> Region:
    lifted = [_access.lift(r, a, item.ranks) for r, a in zip(regions, item.out_axes, strict=True)]
    space = lifted[0] if len(lifted) == 1 else _region.unite(item.ranks, lifted)
    return _couple(space, item.coupled) if item.coupled and not space.is_full else space


def _couple(space: Region, coupled: frozenset[int]) -> Region:
    """Every position along the coupled ranks."""
    axes = tuple(Fixed() if r in coupled else Along(r) for r in range(len(space.shape)))
    flat = _access.pull(space, axes, space.shape)
    boxes = [
        _region.Box(
            tuple(range(space.shape[r]) if r in coupled else s for r, s in enumerate(b.sets)),
            b.joints,
        )
        for b in flat.boxes
    ]
    return _region.of_boxes(space.shape, boxes)


def _gated(item: Map, space: Region, lifted: LiftedGraph) -> Region:
    """Points where the gating operand is not known to be zero."""
    if item.gate is None:
        return space
    operand = item.operands[item.gate]
    pin = _pins.to_space(lifted.facts[operand.value].pin, operand.axes, item.ranks)
    if pin is None or pin.value != 0:
        return space
    return _region.empty(item.ranks) if pin.free is None else space.intersect(pin.free)


def _unmasked(item: Map, space: Region, lifted: LiftedGraph) -> Region:
    """Points with ordinary work: a softmax has none where its mask leaves nothing."""
    if not item.coupled or not item.operands:
        return space
    operand = item.operands[0]
    pin = _pins.to_space(lifted.facts[operand.value].pin, operand.axes, item.ranks)
    if pin is None or pin.value != -inf:
        return _gated(item, space, lifted)
    return _region.empty(item.ranks) if pin.free is None else space.intersect(pin.free)


def _read(operand: Operand, space: Region) -> Region:
    if operand.within is not None:
        space = space.intersect(operand.within)
    if operand.outside is not None and not space.is_empty:
        space = space.subtract(operand.outside)
    return space


def _reduced(item: Map) -> bool:
    kept = {a.rank for a in item.out_axes[0] if isinstance(a, Along)}
    return any(r not in kept and n > 1 for r, n in enumerate(item.ranks))


def _merged_pools(item: Map, result: Demanded) -> list[Pool | None]:
    """One entry per distinct use of the result."""
    if len(item.outs) > 1:
        return [None]
    unique: list[Pool | None] = []
    for pool in result.pools(item.outs[0]):
        if pool is None or all(p is None for p in pool):
            return [None]
        if not any(_same_pool(pool, other) for other in unique):
            unique.append(pool)
    needed = [p for p in unique if not any(_follows(p, q) for q in unique if q is not p)]
    return needed if 0 < len(needed) <= 16 else [None]


def _follows(coarse: Pool | None, fine: Pool | None) -> bool:
    """Whether the sums of one use are sums of those of another."""
    if coarse is None or fine is None:
        return False
    return all(
        c is _reps.CONST or c is f or f is None
        or (not isinstance(c, str | None) and not isinstance(f, str) and bool((c[f] == c).all()))
        for c, f in zip(coarse, fine, strict=True)
    )  # fmt: skip


def _same_pool(left: Pool, right: Pool | None) -> bool:
    return right is not None and all(
        a is b
        or (
            not isinstance(a, str | None) and not isinstance(b, str | None) and bool((a == b).all())
        )
        for a, b in zip(left, right, strict=True)
    )


def _pool_back(
    item: Map,
    operand: Operand,
    pool: Pool | None,
    others: Sequence[Sequence[_reps.Rep]],
    lifted: LiftedGraph,
) -> Pool | None:
    """Which sums of this operand are enough, for one use of the result."""
    sums: list[_reps.Rep] = [_reps.CONST] * len(item.ranks)
    for dim, axis in enumerate(item.out_axes[0]):
        if isinstance(axis, Along):
            sums[axis.rank] = pool[dim] if pool is not None else None
    multiplies = item.contracts or item.flavour == "product"
    if multiplies:
        for rank, size in enumerate(item.ranks):
            if any(not _reps.is_const(o[rank], size) for o in others):
                sums[rank] = None
    if multiplies and not others and len(item.operands) > 1:
        return None
    shape = lifted.values[operand.value].shape
    back: list[_reps.Rep] = []
    ranks = [r for a in operand.axes for r in _access.ranks_of(a)]
    for axis, size in zip(operand.axes, shape, strict=True):
        alone = all(ranks.count(r) == 1 for r in _access.ranks_of(axis))  # else a diagonal
        if isinstance(axis, Along | Table) and alone:
            rep = sums[axis.rank]
            usable = rep is _reps.CONST or (isinstance(axis, Along) and axis.identity)
            back.append(rep if usable and size == item.ranks[axis.rank] else None)
        elif isinstance(axis, Taps) and alone and sums[axis.tap] is _reps.CONST:
            back.append(_summed_windows(axis, sums[axis.rank], size))
        else:
            back.append(None)
    return None if all(r is None for r in back) else tuple(back)


def _summed_windows(axis: Taps, rep: _reps.Rep, size: int) -> _reps.Rep:
    """Positions of windows that are summed belong together, if no window of another sum has any of them."""
    window, tap = np.nonzero(axis.table >= 0)
    places, own = axis.table[window, tap], _reps.labels(rep, len(axis.table))[window]
    classes = len(axis.table) + np.arange(size)  # what no window has stands alone
    classes[places] = own
    return _reps.canonical(classes) if np.array_equal(classes[places], own) else None


def plain_flops(item: Map) -> int:
    """Contraction work of the whole iteration space, nothing removed."""
    if not item.contracts:
        return 0
    taps = {a.tap for o in item.operands for a in o.axes if isinstance(a, _access.Taps)}
    total = 2
    for size in item.ranks:
        total *= size
    return total if taps or _reduced(item) else 0
