"""Elements of one tensor in another order: flips, rolls, turns and shuffles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solbench.bound import _access
from solbench.bound._access import Along, Axis, Table
from solbench.bound._lifted import Lifted, Reshape
from solbench.bound.rules._base import Call, rule
from solbench.bound.rules.views import at, flat_gather


@rule("aten.flip")
def flip(call: Call) -> Iterable[Lifted]:
    shape = call.shape()
    dims = call.dims("dims")
    axes = tuple(Along(d, n - 1, -1) if d in dims else Along(d) for d, n in enumerate(shape))
    yield call.moved(shape, axes)


@rule("aten.roll")
def roll(call: Call) -> Iterable[Lifted]:
    shape, shifts = call.shape(), call.args["shifts"]
    given = call.args.get("dims") or ()
    if not given:
        table = np.roll(np.arange(call.value("self").numel), shifts[0])
        yield from flat_gather(call, "self", table)
        return
    axes: list[Axis] = list(_access.identity(len(shape)))
    for shift, dim in zip(shifts, given, strict=True):
        size = shape[dim % len(shape)]
        axes[dim % len(shape)] = Table(dim % len(shape), np.roll(np.arange(size), shift))
    yield call.moved(shape, tuple(axes))


@rule("aten.rot90")
def quarter_turns(call: Call) -> Iterable[Lifted]:
    shape, ranks = call.shape(), call.shape(0)
    first, second = (int(d) % len(shape) for d in call.args["dims"])
    turns = int(call.args["k"]) % 4
    axes: list[Axis] = list(_access.identity(len(shape)))
    back = (Along(first, shape[first] - 1, -1), Along(second, shape[second] - 1, -1))
    if turns == 1:
        axes[first], axes[second] = Along(second), Along(first, shape[second] - 1, -1)
    elif turns == 2:
        axes[first], axes[second] = back
    elif turns == 3:
        axes[first], axes[second] = Along(second, shape[first] - 1, -1), Along(first)
    yield call.moved(ranks, tuple(axes))


@rule("aten.pixel_shuffle", "aten.pixel_unshuffle")
def pixel_shuffle(call: Call) -> Iterable[Lifted]:
    """Channels to space and back: split, permute, merge."""
    up = "unshuffle" not in call.node.op
    factor = int(call.args["upscale_factor" if up else "downscale_factor"])
    small = call.shape() if up else call.shape(0)
    *lead, channels, height, width = small
    deep = channels // factor**2
    split = (*lead, deep, factor, factor, height, width)
    count = len(lead)
    order = [*range(count + 1), count + 3, count + 1, count + 4, count + 2]
    merged = tuple(split[d] for d in order)
    dtype = call.value("self").dtype
    first = call.temporary(split if up else merged, dtype)
    second = call.temporary(merged if up else split, dtype)
    places = [order.index(d) for d in range(len(order))] if up else order
    yield Reshape(first, call.id("self"))
    ranks = call.values[second].shape
    yield call.moved(ranks, tuple(Along(p) for p in places), first, out=second)
    yield Reshape(call.outputs[0], second)


@rule("aten.channel_shuffle", "aten.native_channel_shuffle")
def channel_shuffle(call: Call) -> Iterable[Lifted]:
    shape, groups = call.shape(), int(call.args["groups"])
    table = np.arange(shape[1]).reshape(groups, -1).T.reshape(-1)
    yield call.moved(shape, at(len(shape), 1, Table(1, table)))
