"""Matrix work of one contraction: multiply-adds over the part of its iteration space that matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from solbench.bound import (
    _access,
    _equal_windows,
    _facts,
    _pins,
    _precision,
    _region,
    _reps,
    _sets,
)
from solbench.bound._access import Along, Axis, Fixed, Table, Taps
from solbench.bound._facts import Known, Values
from solbench.bound._lifted import Map, Operand
from solbench.bound._region import Region
from solbench.bound._reps import CONST, Rep

Pool = tuple[Rep, ...]
"""Per dimension of a value, which indices a consumer only uses the sum of."""


@dataclass(frozen=True, slots=True)
class Work:
    """Multiply-adds of one contraction and their precision class."""

    macs: int
    precision: str
    narrow: str = ""
    """For an fp32 product: ``bf16`` or ``tf32`` if that holds one of the operands exactly."""
    real_products: int = 1
    """Real multiply-adds in each: of complex numbers there are more."""

    @property
    def flops(self) -> int:
        return 2 * self.macs * self.real_products


def live(node: Map, region: Region, facts: Known) -> Region:
    """The iteration space without products with known zeros."""
    for operand in node.operands[:2]:
        pin = facts[operand.value].pin
        if pin is not None and pin.value == 0:
            space = _pins.to_space(pin, operand.axes, node.ranks)
            assert space is not None
            if space.free is None:
                return _region.empty(region.shape)
            region = region.intersect(space.free)
    return region


def work(
    node: Map,
    region: Region,
    pools: Sequence[Pool | None],
    values: Values,
    facts: Known,
) -> Work:
    """Fewest multiply-adds for the live region.

    ``pools`` has one entry per use of the result: uses that only need sums over output ranks may sum
    the operand first; each such use then costs its own smaller contraction.
    """
    left, right = node.operands[:2]
    reps = [_reps_of(o, node, values, facts) for o in (left, right)]
    kept = {a.rank for axes in node.out_axes for a in axes if isinstance(a, Along)}
    taps = _taps(node)
    summed = [r for r in range(len(node.ranks)) if r not in kept]
    shrink: list[Rep] = []
    contracted = False
    for rank, size in enumerate(node.ranks):
        both = (reps[0][rank], reps[1][rank])
        if rank in kept:
            shrink.append(_reps.pair(both, size))
        else:
            fewest = min(both, key=lambda r: _reps.class_count(r, size))
            shrink.append(fewest)
            contracted |= _reps.class_count(fewest, size) > 1
    classes = [_facts.contraction_class(o, summed, node, values, facts) for o in (left, right)]
    precision = _named(_precision.join_all(classes), values[node.outs[0]].dtype)
    narrow = _narrow(classes) if precision == "fp32" else ""
    if not contracted or region.is_empty:
        return Work(0, precision)
    if not taps and _one_product_each(node, region):
        return Work(0, precision)
    plain = _count(region, shrink, taps, node, values, facts)
    if pools and all(p is not None for p in pools):
        pooled = 0
        for pool in pools:
            assert pool is not None
            chosen = _pooled(node, pool, shrink, reps)
            still = any(chosen[r] is not CONST and node.ranks[r] > 1 for r in summed)
            still |= bool(taps)
            pooled += _count(region, chosen, taps, node, values, facts) if still else 0
        return Work(min(plain, pooled), precision, narrow)
    return Work(plain, precision, narrow)


def _reps_of(operand: Operand, node: Map, values: Values, facts: Known) -> list[Rep]:
    """Equal slices of an operand. Weights of a window are the same at every position, whichever taps it has."""
    own = replace(operand, within=None) if _taps(node) else operand
    return _facts.operand_reps(own, node.ranks, values, facts)


def _one_product_each(node: Map, region: Region) -> bool:
    """Whether known zeros leave at most one product an output: a diagonal scales, it does not contract."""
    if region.is_full:
        return False
    kept = {a.rank for axes in node.out_axes for a in axes if isinstance(a, Along)}
    axes: list[Axis] = [Along(r) if r in kept else Fixed() for r in range(len(node.ranks))]
    return _access.pull(region, tuple(axes), region.shape).count() == region.count()


def _narrow(classes: Sequence[str]) -> str:
    """The cheapest class to split a product into that holds one operand without splitting it."""
    for name in ("bf16", "tf32"):
        if any(_precision.join(own, name) == name for own in classes):
            return name
    return ""


def _named(precision: str, dtype: torch.dtype) -> str:
    """Class that a unit exists for: integers multiply as what they were cast to."""
    if precision == "int" and dtype.is_floating_point:
        return _precision.of_dtype(dtype)
    return precision


def _pooled(node: Map, pool: Pool, shrink: list[Rep], reps: Sequence[Sequence[Rep]]) -> list[Rep]:
    """Sum one operand first along the output ranks that the other does not vary along."""
    result = list(shrink)
    for axis, rep in zip(node.out_axes[0], pool, strict=True):
        if rep is None or not isinstance(axis, Along):
            continue
        size = node.ranks[axis.rank]
        alone = any(_reps.is_const(own[axis.rank], size) for own in reps)
        fewer = _reps.class_count(rep, size) < _reps.class_count(result[axis.rank], size)
        if alone and fewer:
            result[axis.rank] = rep
    return result


def _taps(node: Map) -> list[tuple[Operand, int, Taps]]:
    return [
        (operand, dim, axis)
        for operand in node.operands[:2]
        for dim, axis in enumerate(operand.axes)
        if isinstance(axis, Taps)
    ]


def _count(
    region: Region,
    shrink: Sequence[Rep],
    taps: Sequence[tuple[Operand, int, Taps]],
    node: Map,
    values: Values,
    facts: Known,
) -> int:
    """Points of the region, one of each class; for a window, the taps that fall inside the tensor."""
    weights: dict[int, NDArray[Any]] = {}
    single = {axis.tap for _, _, axis in taps}
    for operand, dim, axis in taps:
        valid = axis.table >= 0
        pin = facts[operand.value].pin
        if pin is not None and pin.value == 0 and pin.free is not None:
            inside = _sets.to_mask(pin.free.sets[dim], values[operand.value].shape[dim])
            valid = valid & inside[axis.table]
        if isinstance(shrink[axis.rank], str):  # all windows summed first: each tap counts once
            weights[axis.rank] = np.full(len(valid), valid.any(axis=0).sum())
        else:
            other = next(o for o in node.operands[:2] if o is not operand)
            alike = _reps_of(other, node, values, facts)[axis.rank]
            shared = _reps.is_const(alike, node.ranks[axis.rank])
            equal = facts[operand.value].same[dim]
            weights[axis.rank] = _equal_windows.products(valid, axis.table, equal, shared=shared)
    axes: list[Axis] = []
    for rank, rep in enumerate(shrink):
        if rank in single or isinstance(rep, str):
            axes.append(Fixed())
        elif rep is None or rank in weights:
            axes.append(Along(rank))
        else:
            assert not isinstance(rep, str)
            axes.append(Table(rank, rep))
    return _access.pull(region, tuple(axes), region.shape).count(weights)
