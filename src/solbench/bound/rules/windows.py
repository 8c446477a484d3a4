"""Windows as columns and back: ``F.unfold`` and ``F.fold``."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

import numpy as np

from solbench.bound import _access, _pins, _region, _sets
from solbench.bound._access import Along, Axis, Taps
from solbench.bound._lifted import Lifted, Map, Reshape
from solbench.bound._region import Box, Joint, Shape
from solbench.bound._sets import Indices
from solbench.bound.rules._base import Call, rule
from solbench.bound.rules.convolution import Window

LARGEST_MASK = 1 << 25
"""Elements of columns up to which taps in the padding are followed one by one."""


def _windows(call: Call) -> list[Window]:
    settings = zip(
        *(call.args[a] for a in ("kernel_size", "stride", "padding", "dilation")), strict=True
    )
    return [Window(int(k), int(s), int(p), int(d)) for k, s, p, d in settings]


def _grid(windows: list[Window], image: Shape) -> list[int]:
    """Windows along each dimension."""
    return [
        (size + 2 * w.padding - w.dilation * (w.kernel - 1) - 1) // w.stride + 1
        for w, size in zip(windows, image, strict=True)
    ]


def _inside(tables: list[Indices], pairs: list[tuple[int, int]], ranks: Shape) -> Box | None:
    """Where every tap falls into the tensor; of images too large for a mask, the windows inside it."""
    if prod(ranks) > LARGEST_MASK:
        sets: list[_sets.IndexSet] = [range(n) for n in ranks]
        for (rank, _), table in zip(pairs, tables, strict=True):
            sets[rank] = _sets.from_mask(np.asarray((table >= 0).all(axis=1)))
        return _region.make_box(sets, [], ranks)
    joints = [Joint(p, t >= 0) for p, t in zip(pairs, tables, strict=True) if (t < 0).any()]
    return _region.make_box([range(n) for n in ranks], joints, ranks)


@rule("aten.im2col")
def columns(call: Call) -> Iterable[Lifted]:
    """Channel and place in the window become one dimension, the windows the other; padding is zero."""
    *lead, height, width = call.shape()
    windows = _windows(call)
    grid = _grid(windows, (height, width))
    spread = (*lead, *(w.kernel for w in windows), *grid)
    n = len(lead)
    tables = [w.direct(g, s) for w, g, s in zip(windows, grid, (height, width), strict=True)]
    pairs = [(n + 2, n), (n + 3, n + 1)]
    axes: tuple[Axis, ...] = (
        *_access.identity(n), *(Taps(*p, t) for p, t in zip(pairs, tables, strict=True)),
    )  # fmt: skip
    inside = _inside(tables, pairs, spread)
    out = call.temporary(spread, call.value("self").dtype)
    whole = not any((t < 0).any() for t in tables)
    operands = () if inside is None else (call.operand("self", axes, within=inside),)
    yield Map(
        (out,), (_access.identity(len(spread)),), spread, operands,
        pin=None if whole else lambda pins: _pins.of_box(0.0, inside)([]), ops=0,
    )  # fmt: skip
    yield Reshape(call.outputs[0], out)


@rule("aten.col2im")
def overlap_add(call: Call) -> Iterable[Lifted]:
    """Every position of the image is the sum of the columns that cover it."""
    ranks = call.shape(0)
    *lead, height, width = ranks
    windows = _windows(call)
    grid = _grid(windows, (height, width))
    n = len(lead)
    form = (*lead, *(w.kernel for w in windows), *grid)
    given, spread = (call.temporary(form, call.value("self").dtype) for _ in range(2))
    yield Reshape(given, call.id("self"))
    direct = [w.direct(g, s) for w, g, s in zip(windows, grid, (height, width), strict=True)]
    covered = _inside(direct, [(n + 2, n), (n + 3, n + 1)], form)
    yield call.moved(form, _access.identity(len(form)), given, out=spread, within=covered)
    tables = [w.transposed(s, g) for w, s, g in zip(windows, (height, width), grid, strict=True)]
    pairs = [(n, n + 2), (n + 1, n + 3)]
    sums = (*ranks, *(w.kernel for w in windows))
    axes: tuple[Axis, ...] = (
        *_access.identity(n), Along(n + 2), Along(n + 3),
        *(Taps(*p, t) for p, t in zip(pairs, tables, strict=True)),
    )  # fmt: skip
    inside = _inside(tables, pairs, sums)
    operands = () if inside is None else (call.operand(spread, axes, within=inside),)
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), sums, operands,
        flavour="computed", linear=True,
    )  # fmt: skip


@rule("aten.unfold_backward")
def windows_summed(call: Call) -> Iterable[Lifted]:
    """Every position is the sum of the places in windows along one dimension that lie on it."""
    ranks, given = call.shape(0), call.shape("grad_in")
    dim = int(call.args["dim"]) % len(ranks)
    window = Window(int(call.args["size"]), int(call.args["step"]), 0, 1)
    table = window.transposed(ranks[dim], given[dim])
    tap = len(ranks)
    axes: list[Axis] = [*_access.identity(len(ranks)), Along(tap)]
    axes[dim] = Taps(dim, tap, table)
    spread = (*ranks, window.kernel)
    inside = _inside([table], [(dim, tap)], spread)
    operands = () if inside is None else (call.operand("grad_in", tuple(axes), within=inside),)
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), spread, operands,
        flavour="computed", linear=True,
    )  # fmt: skip
