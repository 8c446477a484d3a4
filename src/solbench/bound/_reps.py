"""Which slices of a tensor are equal: per dimension, index → the first index with an equal slice.

``None`` says that all may differ, ``"const"`` that the tensor does not vary along the dimension (an
``expand``), an array anything between (``repeat`` gives ``i % n``, ``repeat_interleave`` ``i // g``). The same
form, read backwards, says which indices a consumer only uses the sum of.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

import numpy as np

from solbench.bound import _sets
from solbench.bound._sets import DENSE_LIMIT, IndexSet, Indices

Rep = None | Literal["const"] | Indices
CONST: Literal["const"] = "const"
MARKED_PER_LABEL = 16
"""Labels up to this many times their number are looked up in a table, others sorted."""


def canonical(classes: Indices) -> Rep:
    """From any class labels: first index of each class."""
    count = len(classes)
    if count and int(classes.min()) >= 0 and int(classes.max()) < MARKED_PER_LABEL * count:
        # of several places of a label the last one assigned stays: the first. Narrow, since lists are long
        places = np.dtype(np.int32 if count < 1 << 31 else np.int64)
        first_place = np.full(int(classes.max()) + 1, -1, dtype=places)
        first_place[classes[::-1]] = np.arange(count - 1, -1, -1, dtype=places)
        distinct = int(np.count_nonzero(first_place >= 0))
        if 1 < distinct < count:
            return first_place[classes].astype(np.int64)
    else:
        _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
        distinct = len(first)
        if 1 < distinct < count:
            return first[inverse.reshape(-1)].astype(np.int64)
    return None if distinct == count else CONST


def labels(rep: Rep, size: int) -> Indices:
    """Class label of every index."""
    if rep is None:
        return np.arange(size, dtype=np.int64)
    if isinstance(rep, str):
        return np.zeros(size, dtype=np.int64)
    return rep


def class_count(rep: Rep, size: int) -> int:
    if rep is None:
        return size
    return 1 if isinstance(rep, str) else len(np.unique(rep))


def is_const(rep: Rep, size: int) -> bool:
    return size == 1 or isinstance(rep, str)


def pair(reps: Sequence[Rep], size: int) -> Rep:
    """Classes of a function of several operands: equal where all of them are equal."""
    for rep in reps:
        if rep is None:
            return None
    arrays = [r for r in reps if r is not None and not isinstance(r, str)]
    if not arrays:
        return CONST
    if len(arrays) == 1 or all(a is arrays[0] for a in arrays):
        return arrays[0]
    combined = arrays[0]
    for other in arrays[1:]:
        combined = labels(canonical(combined * np.int64(size) + other), size)
    return canonical(combined)


def through_table(rep: Rep, size: int, table: Indices) -> Rep:
    """Classes along a rank that reads index ``table[i]``."""
    if isinstance(rep, str):
        return CONST
    return canonical(table if rep is None else rep[table])


def shrink(indices: IndexSet, rep: Rep) -> IndexSet:
    """One representative of every class that meets the set."""
    if rep is None or len(indices) == 0:
        return indices
    if isinstance(rep, str):
        return range(1)
    return _sets.through_table(indices, rep)


def reshape(reps: Sequence[Rep], old: Sequence[int], new: Sequence[int]) -> tuple[Rep, ...]:
    """Classes of the dimensions of a group after merging or splitting them (equal products)."""
    if all(is_const(r, n) for r, n in zip(reps, old, strict=True)):
        return (CONST,) * len(new)
    if all(r is None for r in reps) or prod(old) > DENSE_LIMIT:
        return (None,) * len(new)
    flat = np.zeros([1] * len(old), dtype=np.int64)
    for axis, (rep, size) in enumerate(zip(reps, old, strict=True)):
        line = labels(rep, size).reshape([-1 if a == axis else 1 for a in range(len(old))])
        flat = flat * size + line
    grid = np.broadcast_to(flat, list(old)).reshape(list(new))
    return tuple(along(grid, axis) for axis in range(len(new)))


def along(grid: Indices, axis: int) -> Rep:
    """Classes along one axis of a grid of labels."""
    if grid.shape[axis] == 1:
        return CONST
    lines = np.moveaxis(grid, axis, 0).reshape(grid.shape[axis], -1)
    if bool((lines == lines[:1]).all()):
        return CONST
    _, first, inverse = np.unique(lines, axis=0, return_index=True, return_inverse=True)
    return canonical(first[inverse.reshape(-1)].astype(np.int64))
