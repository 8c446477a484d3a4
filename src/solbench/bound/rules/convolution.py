"""Convolution, direct and transposed, forward and backward: contractions with windows.

Taps that fall outside the input are not counted; each spatial dimension has a table (output position, tap) →
input position. Groups are a table too, so that a grouped convolution costs what its groups cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from solbench.bound import _access, _region
from solbench.bound._access import Along, Axis, Table, Taps
from solbench.bound._lifted import Lifted, Map, Operand
from solbench.bound._sets import Indices
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, MissingRule, rule


@dataclass(frozen=True, slots=True)
class Window:
    """One spatial dimension of a convolution."""

    kernel: int
    stride: int
    padding: int
    dilation: int

    def direct(self, outputs: int, inputs: int) -> Indices:
        """(output, tap) → input position, -1 in the padding."""
        where = np.arange(outputs)[:, None] * self.stride - self.padding
        where = where + np.arange(self.kernel)[None, :] * self.dilation
        return np.where((where >= 0) & (where < inputs), where, -1)

    def transposed(self, outputs: int, inputs: int) -> Indices:
        """(output, tap) → input position of a transposed convolution; -1 where the stride skips."""
        where = np.arange(outputs)[:, None] + self.padding
        where = where - np.arange(self.kernel)[None, :] * self.dilation
        inside = (where % self.stride == 0) & (where >= 0) & (where < inputs * self.stride)
        return np.where(inside, where // self.stride, -1)


def _windows(call: Call, kernel: Sequence[int]) -> list[Window]:
    def spread(name: str) -> list[int]:
        given = list(call.args[name])
        return given * len(kernel) if len(given) == 1 else given

    settings = zip(kernel, spread("stride"), spread("padding"), spread("dilation"), strict=True)
    return [Window(k, s, p, d) for k, s, p, d in settings]


def _channel_table(outputs: int, inputs: int, groups: int) -> Indices:
    """(output channel, channel within the group) → input channel."""
    first = np.arange(outputs)[:, None] // (outputs // groups) * (inputs // groups)
    return first + np.arange(inputs // groups)[None, :]


def contraction(
    call: Call,
    source: str | Ref | int,
    weight: str | Ref | int,
    out: int,
    tables: Sequence[Indices],
    groups: int,
    *,
    weight_is_input_first: bool,
) -> Map:
    """``out[n, o, y] = sum over c, k of source[n, c, table[y, k]] * weight[o, c, k]``.

    Ranks: n, o, y…, then c, k…. A transposed convolution holds its weight as [c, o within group, k].
    """
    produced = call.values[out].shape
    spatial = len(tables)
    channels = call.value(source).shape[1]
    within = channels // groups
    kernel = tuple(t.shape[1] for t in tables)
    ranks = (*produced, within, *kernel)
    c = 2 + spatial
    taps = tuple(
        Taps(2 + d, c + 1 + d, t) if kernel[d] > 1 or (t < 0).any() else Table(2 + d, t[:, 0])
        for d, t in enumerate(tables)
    )
    channel: Axis = Along(c)
    if groups > 1:
        channel = Taps(1, c, _channel_table(produced[1], channels, groups))
    offsets = tuple(Along(c + 1 + d) for d in range(spatial))
    weight_axes: tuple[Axis, ...]
    if weight_is_input_first:
        share = produced[1] // groups
        own: Axis = Along(1) if groups == 1 else Table(1, np.arange(produced[1]) % share)
        weight_axes = (channel, own, *offsets)
    else:
        weight_axes = (Along(1), Along(c), *offsets)
    # a tap that falls into the padding at every needed position needs no weight
    inside = [
        _region.Joint((2 + d, c + 1 + d), t >= 0) for d, t in enumerate(tables) if (t < 0).any()
    ]
    operands = (
        call.operand(source, (Along(0), channel, *taps)),
        call.operand(
            weight, weight_axes, within=_region.make_box([range(n) for n in ranks], inside, ranks)
        ),
    )
    return Map(
        (out,), (_access.identity(c),), ranks, operands,
        flavour="computed", contracts=True, linear=True, ops=0,
    )  # fmt: skip


@rule("aten.convolution", "aten._convolution", "aten.convolution_overrideable")
def convolution(call: Call) -> Iterable[Lifted]:
    yield from _forward(call, bool(call.args["transposed"]))


@rule(
    "aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default", "aten.mkldnn_convolution",
    "aten.cudnn_convolution", "aten._conv_depthwise2d",
)  # fmt: skip
def direct(call: Call) -> Iterable[Lifted]:
    yield from _forward(call, False)


@rule("aten.conv_transpose1d", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def transposed(call: Call) -> Iterable[Lifted]:
    yield from _forward(call, True)


def _forward(call: Call, is_transposed: bool) -> Iterable[Lifted]:
    source = call.first("input", "self")
    shape, weight = call.shape(source), call.shape("weight")
    if len(shape) != len(weight):
        raise MissingRule("convolution without a batch dimension")
    out = call.outputs[0]
    if call.has("bias"):
        out = call.temporary(call.shape(0), call.values[out].dtype)
    tables = [
        (w.transposed if is_transposed else w.direct)(outputs, inputs)
        for w, outputs, inputs in zip(
            _windows(call, weight[2:]), call.shape(0)[2:], shape[2:], strict=True
        )
    ]
    groups = int(call.args.get("groups", 1))
    yield contraction(
        call, source, "weight", out, tables, groups, weight_is_input_first=is_transposed
    )
    if call.has("bias"):
        yield _add_channels(call, out)


def _add_channels(call: Call, product: int) -> Map:
    ranks = call.shape(0)
    axes = _access.identity(len(ranks))
    operands = (call.operand(product, axes), call.operand("bias", (Along(1),)))
    return Map(call.outputs[:1], (axes,), ranks, operands, flavour="computed", linear=True)


@rule("aten.convolution_backward")
def backward(call: Call) -> Iterable[Lifted]:
    """Gradients to input, weight and bias; each only if asked for."""
    mask = call.args["output_mask"]
    is_transposed = bool(call.args["transposed"])
    groups = int(call.args["groups"])
    weight, source, grad = (call.shape(a) for a in ("weight", "input", "grad_output"))
    windows = _windows(call, weight[2:])
    if mask[0]:
        tables = [
            (w.direct if is_transposed else w.transposed)(i, g)
            for w, i, g in zip(windows, source[2:], grad[2:], strict=True)
        ]
        yield contraction(
            call, "grad_output", "weight", call.outputs[0], tables, groups,
            weight_is_input_first=not is_transposed,
        )  # fmt: skip
    if mask[1]:
        yield _weight_gradient(call, windows, groups, is_transposed)
    if mask[2]:
        dims = tuple(d for d in range(len(grad)) if d != 1)
        yield call.reduce(dims, "grad_output", outs=(call.outputs[2],), linear=True)


def _weight_gradient(
    call: Call, windows: Sequence[Window], groups: int, is_transposed: bool
) -> Map:
    """``gw[a, b, k] = sum over n, y of outer[n, a, y] * inner[n, b, table[y, k]]``.

    ``outer`` has the coarser grid: the gradient of a direct convolution, the input of a transposed one.
    """
    outer, inner = ("grad_output", "input") if not is_transposed else ("input", "grad_output")
    weight = call.shape("weight")
    spatial = len(windows)
    coarse, fine = call.shape(outer), call.shape(inner)
    n = 2 + spatial
    ranks = (*weight, coarse[0], *coarse[2:])
    channel: Axis = Along(1)
    if groups > 1:
        # channel b of the group that channel a belongs to: a table over both output ranks
        channel = Taps(0, 1, _channel_table(coarse[1], fine[1], groups))
    tables = [w.direct(o, i).T for w, o, i in zip(windows, coarse[2:], fine[2:], strict=True)]
    operands: tuple[Operand, ...] = (
        call.operand(outer, (Along(n), Along(0), *(Along(n + 1 + d) for d in range(spatial)))),
        call.operand(
            inner,
            (Along(n), channel, *(Taps(2 + d, n + 1 + d, t) for d, t in enumerate(tables))),
        ),
    )
    return Map(
        (call.outputs[1],), (_access.identity(n),), ranks, operands,
        flavour="computed", contracts=True, linear=True, ops=0,
    )  # fmt: skip
