"""Two products in a row whose intermediate stays on chip: ``(A·B)·D``, with a softmax between them or not.

A is ``rows × inner``, B ``inner × middle``, D ``middle × columns``. Three schedules, each over all
perfect factors:

* rows held: a tile of rows of A and of the result stays, B and D stream past (FlashAttention's outer loop);
* sums held: only the result's rows stay, A is streamed again for every tile of the middle rank;
* weights held: a tile of B and D stays, A streams past, unfinished results are written and read again.

The intermediate is never computed twice.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from solbench.bound.cache._curve import Curve, frontier, merged, summed
from solbench.bound.cache._nest import divisors, product_curve


@lru_cache(maxsize=256)
def chain_curve(rows: int, inner: int, middle: int, columns: int, *, softmax: bool) -> Curve:
    """Least traffic found for both products, fused or one after the other."""
    fused = [
        _rows_held(rows, inner, middle, columns, softmax=softmax),
        _sums_held(rows, inner, middle, columns, softmax=softmax),
        _weights_held(rows, inner, middle, columns, softmax=softmax),
    ]
    return merged([*fused, unfused_curve(rows, inner, middle, columns)])


def unfused_curve(rows: int, inner: int, middle: int, columns: int) -> Curve:
    """The intermediate is written by the first product and read by the second."""
    return summed((product_curve(rows, middle, inner), product_curve(rows, columns, middle)))


def _statistics(softmax: bool) -> int:
    """Kept for every row: its largest value and the sum of its exponentials."""
    return 2 if softmax else 0


def _rows_held(rows: int, inner: int, middle: int, columns: int, *, softmax: bool) -> Curve:
    tile = np.array(divisors(rows), dtype=np.float64)
    # one column of the intermediate at a time: it needs one element of B or D at a time
    capacity = tile * (inner + columns + 1 + _statistics(softmax)) + 1
    weights = middle * (inner + columns) * (rows / tile)
    return frontier(capacity, rows * (inner + columns) + weights)


def _sums_held(rows: int, inner: int, middle: int, columns: int, *, softmax: bool) -> Curve:
    row, mid = (
        grid.reshape(-1)
        for grid in np.meshgrid(
            np.array(divisors(rows), dtype=np.float64),
            np.array(divisors(middle), dtype=np.float64),
            indexing="ij",
        )
    )
    capacity = row * (columns + mid + 1 + _statistics(softmax)) + mid
    traffic = (
        rows * inner * (middle / mid)
        + middle * (inner + columns) * (rows / row)
        + float(rows * columns)
    )
    return frontier(capacity, traffic)


def _weights_held(rows: int, inner: int, middle: int, columns: int, *, softmax: bool) -> Curve:
    """With a softmax the whole middle rank is held: a part of a row has no final weights."""
    mid = np.array([middle] if softmax else divisors(middle), dtype=np.float64)
    capacity = mid * (inner + columns + 1) + 2
    passes = middle / mid
    traffic = middle * (inner + columns) + rows * inner * passes + rows * columns * (2 * passes - 1)
    return frontier(capacity, traffic)
