"""Axes: where an operand is read along one of its dimensions, as a function of the iteration space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from solbench.bound import _sets
from solbench.bound._boxes import Shape
from solbench.bound._sets import IndexSet, Indices


@dataclass(frozen=True, slots=True)
class Along:
    """Index ``start + step * rank``."""

    rank: int
    start: int = 0
    step: int = 1

    @property
    def identity(self) -> bool:
        return self.start == 0 and self.step == 1


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Index ``table[rank]``."""

    rank: int
    table: Indices


@dataclass(frozen=True, slots=True, eq=False)
class Taps:
    """Index ``table[rank, tap]``; -1 lies outside the tensor (padding)."""

    rank: int
    tap: int
    table: Indices


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same index (a dimension of size 1 that is broadcast)."""

    index: int = 0


@dataclass(frozen=True, slots=True)
class Whole:
    """Every index, whatever is needed."""


Axis = Along | Table | Taps | Fixed | Whole
Axes = tuple[Axis, ...]


def identity(rank_count: int) -> Axes:
    return tuple(Along(r) for r in range(rank_count))


def broadcast(shape: Shape, ranks: Sequence[int]) -> Axes:
    """Axes of an operand that is broadcast against ranks aligned at the right."""
    skipped = len(ranks) - len(shape)
    return tuple(
        Fixed() if size == 1 and ranks[skipped + i] != 1 else Along(skipped + i)
        for i, size in enumerate(shape)
    )


def is_permutation(axes: Axes, ranks: Shape, shape: Shape) -> bool:
    """Whether every element is read exactly once, dimension by dimension."""
    own = [a.rank for a in axes if isinstance(a, Along) and a.identity]
    wide = [r for r, n in enumerate(ranks) if n != 1]
    return (
        len(own) == len(axes)
        and set(wide) <= set(own)
        and len(set(own)) == len(own)
        and all(ranks[r] == n for r, n in zip(own, shape, strict=True))
    )


def map_set(axis: Along | Table, indices: IndexSet) -> IndexSet:
    """Indices of the tensor that a set of the rank reads."""
    if isinstance(axis, Table):
        return _sets.through_table(indices, axis.table)
    if axis.identity:
        return indices
    return _sets.affine(indices, axis.start, axis.step)


def axis_table(axis: Along | Table, size: int) -> Indices:
    """Index read for every index of the rank."""
    if isinstance(axis, Table):
        return axis.table
    return axis.start + axis.step * np.arange(size, dtype=np.int64)
