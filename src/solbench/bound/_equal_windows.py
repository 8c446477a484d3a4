"""Windows over a tensor that repeats itself: an enlarged image, a vector spread over an image.

Where taps of a window meet equal slices, their weights are summed first. What is left is, for each distinct
slice, one product for every independent sum of weights that any window asks for.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from solbench.bound import _reps
from solbench.bound._reps import Rep
from solbench.bound._sets import Indices, Mask


def products(valid: Mask, table: Indices, rep: Rep, *, shared: bool) -> NDArray[np.int64]:
    """Products that each window adds to those of the windows before it.

    ``table`` (window, tap) gives a position where ``valid``; ``rep`` says which positions are equal, and
    ``shared`` whether all windows have the same weights.
    """
    if rep is None:
        return np.asarray(np.count_nonzero(valid, axis=1), dtype=np.int64)
    places = np.where(valid, table, 0)
    classes = np.where(valid, _reps.labels(rep, int(places.max(initial=0)) + 1)[places], -1)
    found = np.zeros(len(table), dtype=np.int64)
    for name in np.unique(classes[classes >= 0]):
        sums = classes == name
        windows = np.flatnonzero(sums.any(axis=1))
        if shared:
            found[windows] += _gains(sums[windows])
        else:
            found[windows] += 1
    return found


def _gains(rows: Iterable[Mask]) -> NDArray[np.int64]:
    """For each row, 1 if it is no combination of the rows before it."""
    seen: dict[bytes, None] = {}
    basis: list[NDArray[np.float64]] = []
    gains = []
    for row in rows:
        key = row.tobytes()
        gain = 0
        if key not in seen:
            seen[key] = None
            grown = [*basis, row.astype(np.float64)]
            if len(basis) < len(row) and np.linalg.matrix_rank(np.stack(grown)) == len(grown):
                basis, gain = grown, 1
        gains.append(gain)
    return np.array(gains, dtype=np.int64)
