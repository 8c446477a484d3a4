"""Quantities for T_attainable, an estimate: what ordinary fusion cannot keep on chip, and least launches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from solbench.bound._access import Along, Axes, Table, Taps
from solbench.bound._demand import Demanded
from solbench.bound._lift import LiftedGraph
from solbench.bound._lifted import Map, Operand, Reshape

WIDE_REDUCTION = 1 << 18
"""Elements behind one output from which on a reduction is spread over several SMs: 1 MiB of fp32 is more than
any SM holds. What depends on its result waits for all of them, so it begins another kernel."""

ONE_SM = 1 << 16
"""Elements of fp32 that one SM holds in its registers, 256 KiB. Products whose operands and result are no
larger, for each position of the ranks that all three share, follow each other there: nothing is written, nobody
waits."""

FUSED_WIDTH = 1024
"""Summed size of a product and columns of the next, together, up to which a tile of the first goes straight
into the second: 64 rows of that width in fp32 are what one SM holds. Attention by hand is below it, an MLP
above."""


def intermediate_bytes(lifted: LiftedGraph, found: Demanded) -> int:
    """Results of contractions that another contraction reads through its own shape again.

    Such a result is usually written and read back. Not so scores of attention, which a softmax consumes,
    products that one SM does one after the other, and pairs that are narrow enough to be done tile by tile.
    """
    made = _contracted(found)
    softened = _through_lines(lifted)
    outputs = {lifted.resolve(v) for _, v in lifted.graph.outputs}
    columns = _columns_of_readers(lifted, made)
    inner = {
        step.lifted.outs[0]: _summed_size(step.lifted)
        for step in lifted.steps
        if isinstance(step.lifted, Map)
    }
    total = 0
    for value in (made & columns.keys()) - softened - outputs:
        region = found.need.get(value)
        if region is not None and inner[value] + columns[value] > FUSED_WIDTH:
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
        elif (item.coupled or not result.isdisjoint(item.outs)) and not item.contracts:
            result.update(o.value for o in item.operands)
    return result


def _columns_of_readers(lifted: LiftedGraph, made: set[int]) -> dict[int, int]:
    """Values that a later contraction is computed from, element by element, and the most columns of one.

    A value that is summed on the way need not be written, and what one SM reads it has.
    """
    result: dict[int, int] = {}
    for step in reversed(lifted.steps):
        for value, columns in _read(step.lifted, lifted, made, result):
            result[value] = max(columns, result.get(value, 0))
    return result


def _read(
    item: Map | Reshape, lifted: LiftedGraph, made: set[int], columns: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """Operands that a later contraction needs, with its columns; ``columns`` says so of the results."""
    if isinstance(item, Reshape):
        if item.out in columns:
            yield item.value, columns[item.out]
    elif item.outs[0] in made:
        if not _fits_one_sm(item, lifted):
            yield from ((o.value, _columns(item, o)) for o in item.operands[:2])
    else:
        later = [columns[out] for out in item.outs if out in columns]
        if later:
            yield from ((o.value, max(later)) for o in item.operands if not _sums(item, o))


# ---- sizes of a product ----


def _ranks(axes: Axes) -> set[int]:
    result: set[int] = set()
    for axis in axes:
        if isinstance(axis, Taps):
            result |= {axis.rank, axis.tap}
        elif isinstance(axis, Along | Table):
            result.add(axis.rank)
    return result


def _kept(item: Map) -> set[int]:
    return {rank for axes in item.out_axes for rank in _ranks(axes)}


def _summed_size(item: Map) -> int:
    kept = _kept(item)
    return prod(n for rank, n in enumerate(item.ranks) if rank not in kept)


def _sums(item: Map, operand: Operand) -> bool:
    summed = _ranks(operand.axes) - _kept(item)
    return any(item.ranks[rank] > 1 for rank in summed)


def _columns(item: Map, operand: Operand) -> int:
    """Results that share an element of this operand; without end if it is read with its neighbours."""
    if any(isinstance(a, Taps) and item.ranks[a.tap] > 1 for a in operand.axes):
        return FUSED_WIDTH
    return prod(item.ranks[rank] for rank in _kept(item) - _ranks(operand.axes))


def _fits_one_sm(item: Map, lifted: LiftedGraph) -> bool:
    """Whether one SM holds both operands and the result, for each position of the ranks that all share."""
    shared = _kept(item)
    for operand in item.operands[:2]:
        shared &= _ranks(operand.axes)
    slices = max(1, prod(item.ranks[rank] for rank in shared))
    values = (item.outs[0], *(o.value for o in item.operands[:2]))
    return all(lifted.values[v].numel <= ONE_SM * slices for v in values)


# ---- kernels ----


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where a value is at hand, if every kernel does as much as it can."""

    kernel: int = 0
    """Kernels run before it is, its own included; inputs and their views have none."""
    inner: int = 0
    """That kernel holds a contraction that sums so much, whose result the next one needs from everywhere."""
    paired: bool = False
    """It holds two, one behind the other."""
    spread: bool = False
    """The value is a sum over more than one SM holds."""


def launches(lifted: LiftedGraph, found: Demanded) -> int:
    """Least kernels one after the other on the longest path, at least 1.

    A kernel holds any pointwise work and one contraction; two with a softmax between them, or if they are
    narrow; any number of those that one SM does by itself. Another contraction of a contraction's result begins
    a new one, and so does what follows a reduction over ``WIDE_REDUCTION``.
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
        below = [stages.get(o.value, _Stage()) for o in item.operands]
        if item.outs[0] in made:
            stage = _product_stage(item, below, lifted, item.outs[0] not in softened)
        else:
            stage = _plain_stage(item, below)
        stages.update(dict.fromkeys(item.outs, stage))
        longest = max(longest, stage.kernel)
    return longest


def _joined(below: list[_Stage], works: bool) -> tuple[int, list[_Stage]]:
    """The first kernel that can take a node, and those of its operands that are made in it."""
    kernel = max((s.kernel + (works and s.spread) for s in below), default=0)
    return kernel, [s for s in below if s.inner and s.kernel == kernel]


def _plain_stage(item: Map, below: list[_Stage]) -> _Stage:
    works = item.ops > 0
    kernel, here = _joined(below, works)
    inner = max((s.inner for s in here), default=0)
    paired = any(s.paired for s in here)
    return _Stage(max(kernel, 1) if works else kernel, inner, paired, _is_spread(item))


def _product_stage(item: Map, below: list[_Stage], lifted: LiftedGraph, keeps: bool) -> _Stage:
    """``keeps``: no softmax takes the result in."""
    kernel, here = _joined(below, works=True)
    inner = _summed_size(item) if keeps else 0
    if not here or _fits_one_sm(item, lifted):
        return _Stage(max(kernel, 1), inner or max((s.inner for s in here), default=0))
    narrow = all(
        s.inner + _columns(item, o) <= FUSED_WIDTH and not s.paired
        for s, o in zip(below, item.operands, strict=True)
        if s.inner and s.kernel == kernel
    )
    return _Stage(kernel, inner, paired=True) if narrow else _Stage(kernel + 1, inner)


def _is_spread(item: Map) -> bool:
    if item.contracts:
        return False
    kept = {a.rank for axes in item.out_axes for a in axes if isinstance(a, Along)}
    summed = [n for r, n in enumerate(item.ranks) if r not in kept or r in item.coupled]
    return len(summed) > 0 and prod(summed) > WIDE_REDUCTION
