"""Normalisation: statistics over some dimensions, then a pointwise affine map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from solbench.bound import _access
from solbench.bound._access import Along, Axis, Fixed
from solbench.bound._lifted import Lifted, Map, Operand, Reshape
from solbench.bound.graph import ABSENT
from solbench.bound.rules._base import Call, rule


def _channel(call: Call, argument: str, dim: int = 1) -> Operand:
    """A per-channel operand against ranks of which number ``dim`` is the channel."""
    return call.operand(argument, (Along(dim),))


def _normalised(
    call: Call,
    argument: str,
    dims: Sequence[int],
    extras: Sequence[Operand],
    out: int,
    *,
    coupled: bool = True,
) -> Map:
    shape = call.shape(argument)
    axes = _access.identity(len(shape))
    return Map(
        (out,), (axes,), shape, (call.operand(argument, axes), *extras), flavour="computed",
        coupled=frozenset(dims) if coupled else frozenset(), ops=6,
    )  # fmt: skip


def _trailing(call: Call, argument: str, count: int) -> Operand:
    """An operand over the last dimensions."""
    width = len(call.shape(argument))
    return call.operand(argument, tuple(Along(count - width + i) for i in range(width)))


def _statistics(
    call: Call, argument: str, dims: Sequence[int], outs: Sequence[int]
) -> Iterable[Map]:
    """Per-line statistics, with reduced dimensions kept at size 1, dropped, or flattened away."""
    shape = call.shape(argument)
    kept = [d for d in range(len(shape)) if d not in dims]
    for out in outs:
        target = call.values[out].shape
        axes: list[Axis]
        if len(target) == len(shape):
            axes = [Fixed() if d in dims else Along(d) for d in range(len(shape))]
        elif len(target) == len(kept):
            axes = [Along(d) for d in kept]
        else:
            continue
        operand = call.operand(argument, _access.identity(len(shape)))
        yield Map((out,), (tuple(axes),), shape, (operand,), flavour="computed", ops=2)


@rule("aten.native_layer_norm", "aten.layer_norm", "aten._fused_rms_norm", "aten.rms_norm")
def over_last(call: Call) -> Iterable[Lifted]:
    """Layer norm and RMS norm: statistics over the last dimensions."""
    count = len(call.shape("input"))
    dims = range(count - len(call.args["normalized_shape"]), count)
    extras = [_trailing(call, a, count) for a in ("weight", "bias") if call.has(a)]
    out = call.outputs[0]
    if not extras:
        yield _normalised(call, "input", dims, (), out)
    else:  # apart: part of a line needs all of the input, but its own weights only
        scaled = call.temporary(call.shape("input"), call.values[out].dtype)
        yield _normalised(call, "input", dims, (), scaled)
        axes = _access.identity(count)
        operands = (call.operand(scaled, axes), *extras)
        yield Map((out,), (axes,), call.shape("input"), operands, flavour="computed", ops=2)
    yield from _statistics(call, "input", dims, call.outputs[1:])


@rule("aten.native_layer_norm_backward", "aten._fused_rms_norm_backward")
def over_last_backward(call: Call) -> Iterable[Lifted]:
    shape = call.shape("input")
    count = len(shape)
    dims = range(count - len(call.args["normalized_shape"]), count)
    axes = _access.identity(count)
    statistic = tuple(Fixed() if d in dims else Along(d) for d in range(count))
    shared = [call.operand(a, statistic) for a in ("mean", "rstd") if call.has(a)]
    both = (call.operand("grad_out", axes), call.operand("input", axes), *shared)
    extras = [_trailing(call, "weight", count)] if call.has("weight") else []
    mask = call.args["output_mask"]
    if mask[0]:
        yield Map(
            call.outputs[:1], (axes,), shape, (*both, *extras), flavour="computed",
            coupled=frozenset(dims), ops=8,
        )  # fmt: skip
    for index, operands in ((1, both), (2, both[:1])):
        if index < len(mask) and mask[index]:
            out_axes = tuple(Along(d) for d in dims)
            yield Map(
                (call.outputs[index],), (out_axes,), shape, operands, flavour="computed", ops=2
            )


@rule("aten.native_group_norm", "aten.group_norm")
def over_groups(call: Call) -> Iterable[Lifted]:
    """Statistics over the channels of a group and all positions."""
    argument = call.first("input", "self")
    shape = call.shape(argument)
    groups = int(call.args["group" if "group" in call.args else "num_groups"])
    split = (shape[0], groups, call.value(argument).numel // max(shape[0] * groups, 1))
    dtype = call.value(argument).dtype
    grouped, scaled, back = (call.temporary(s, dtype) for s in (split, split, shape))
    yield Reshape(grouped, call.id(argument))
    yield call.lines((2,), argument=grouped, out=scaled, ops=5)
    yield Reshape(back, scaled)
    axes = _access.identity(len(shape))
    extras = tuple(_channel(call, a) for a in ("weight", "bias") if call.has(a))
    yield Map(
        call.outputs[:1], (axes,), shape, (call.operand(back, axes), *extras), flavour="computed"
    )
    for out in list(call.node.results())[1:]:
        yield call.reduce((2,), grouped, outs=(out,))


@rule(
    "aten.native_batch_norm", "aten._native_batch_norm_legit", "aten.cudnn_batch_norm",
    "aten._native_batch_norm_legit_functional", "aten._native_batch_norm_legit_no_training",
    "aten._batch_norm_with_update", "aten._batch_norm_no_update", "aten.miopen_batch_norm",
    "aten._batch_norm_with_update_functional",
)  # fmt: skip
def over_batch(call: Call) -> Iterable[Lifted]:
    """Training: statistics over all but the channel. Inference: running statistics, pointwise."""
    shape = call.shape("input")
    training = bool(call.args.get("training", "no_training" not in call.node.op))
    training = training and "no_update" not in call.node.op
    dims = tuple(d for d in range(len(shape)) if d != 1)
    if training:
        extras = [_channel(call, a) for a in ("weight", "bias") if call.has(a)]
        yield _normalised(call, "input", dims, extras, call.outputs[0])
    else:
        yield from _affine(call)
    channels = shape[1:2]
    for position, out in enumerate(call.outputs[1:]):
        if out == ABSENT:
            continue
        if call.values[out].shape != channels:
            yield call.created(out=out)
        elif not training:
            yield call.pointwise(_running(call, position), out=out)
        else:
            operand = call.operand("input", _access.identity(len(shape)))
            old = [
                _channel(call, a)
                for a in ("running_mean", "running_var")[max(position - 2, 0) :][:1]
                if position >= 2 and call.has(a) and call.args.get("momentum") not in (1, 1.0)
            ]
            yield Map((out,), ((Along(1),),), shape, (operand, *old), flavour="computed", ops=2)


def _affine(call: Call) -> Iterable[Lifted]:
    """Inference: a factor and an offset per channel, both made from the statistics. Sums pass through it."""
    shape, dtype = call.shape("input"), call.values[call.outputs[0]].dtype
    axes, line = _access.identity(len(shape)), _access.identity(1)
    factor, offset = (call.temporary(shape[1:2], dtype) for _ in range(2))
    scaled = call.temporary(shape, dtype)
    for target, names in (
        (factor, ("running_var", "weight")), (offset, ("running_mean", "running_var", "weight", "bias")),
    ):  # fmt: skip
        operands = tuple(call.operand(a, line) for a in names if call.has(a))
        yield Map((target,), (line,), shape[1:2], operands, flavour="computed")
    pair = (call.operand("input", axes), call.operand(factor, (Along(1),)))
    yield Map((scaled,), (axes,), shape, pair, flavour="product", linear=True)
    pair = (call.operand(scaled, axes), call.operand(offset, (Along(1),)))
    yield Map(call.outputs[:1], (axes,), shape, pair, flavour="computed", linear=True)


def _running(call: Call, position: int) -> str:
    return ("running_mean", "running_var")[position % 2]


@rule("aten.native_batch_norm_backward", "aten.native_group_norm_backward")
def statistics_backward(call: Call) -> Iterable[Lifted]:
    """Gradients through batch or group statistics: each needs the whole gradient and input."""
    mask = call.args["output_mask"]
    for index, out in enumerate(call.outputs):
        if index < len(mask) and mask[index]:
            yield call.everything(outs=(out,), ops=8)
