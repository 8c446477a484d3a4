"""Roundings and limits: results that only some numbers can be, so that a narrow format holds them."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from solbench.bound import _access, _pins, _spans
from solbench.bound._lifted import Lifted, Map, Operand
from solbench.bound._spans import Span
from solbench.bound.rules._base import Call, rule


def _spanned(call: Call, span: _spans.SpanRule) -> Map:
    made = call.pointwise("self", pin=_pins.keep_zero)
    return Map(
        made.outs, made.out_axes, made.ranks, made.operands, flavour="computed", pin=made.pin,
        span=span,
    )  # fmt: skip


@rule("aten.round", "aten.floor", "aten.ceil", "aten.trunc", "aten.fix")
def whole_numbers(call: Call) -> Iterable[Lifted]:
    decimals = int(call.args.get("decimals") or 0)
    yield _spanned(call, _spans.rounded) if decimals <= 0 else call.pointwise(pin=_pins.keep_zero)


@rule("aten.sign", "aten.sgn")
def signs(call: Call) -> Iterable[Lifted]:
    yield _spanned(call, _spans.signs)


@rule("aten.clamp", "aten.clamp_min", "aten.clamp_max", "aten.hardtanh", "aten.relu6")
def limited(call: Call) -> Iterable[Lifted]:
    """Between numbers, if they are known; a tensor of limits says nothing of the result."""
    low, high = (_limit(call, names) for names in (("min", "min_val"), ("max", "max_val")))
    if call.node.op.split(".")[1].startswith("relu6"):
        low, high = 0.0, 6.0
    low, high = -inf if low is None else low, inf if high is None else high
    tensors = tuple(call.tensors())
    if len(tensors) > 1:
        yield call.pointwise(*tensors)
        return
    zero_stays = low <= 0 <= high
    made = call.pointwise("self", pin=_pins.keep_zero if zero_stays else None)
    yield Map(
        made.outs, made.out_axes, made.ranks, made.operands, flavour="computed", pin=made.pin,
        span=_spans.clamped(low, high),
    )  # fmt: skip


def _limit(call: Call, names: tuple[str, str]) -> float | None:
    return next((call.number(name) for name in names if name in call.args), None)


@rule(
    "aten.fake_quantize_per_tensor_affine_cachemask",
    "aten.fake_quantize_per_channel_affine_cachemask",
    "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
)
def fake_quantized(call: Call) -> Iterable[Lifted]:
    """``(clamp(round(x / s) + z, low, high) - z) * s``: narrow whole numbers times a scale."""
    low, high = int(call.args["quant_min"]), int(call.args["quant_max"])
    shape = call.shape()
    others = [call.operand(a, _scale_axes(call, a)) for a in ("scale", "zero_point") if call.has(a)]
    span = Span(low, high, True)  # zero points are multiplied apart
    whole = call.temporary(shape, call.values[call.outputs[0]].dtype)
    operands = (call.operand("self", _access.identity(len(shape))), *others)
    ranks, out = shape, _access.identity(len(shape))
    yield Map((whole,), (out,), ranks, operands, flavour="computed", pin=_pins.keep_zero,
              ops=3, span=lambda spans: span)  # fmt: skip
    scales: tuple[Operand, ...] = tuple(others[:1]) if call.has("scale") else ()
    yield Map(
        call.outputs[:1], (out,), ranks, (call.operand(whole, out), *scales), flavour="product",
        pin=_pins.keep_zero,
    )  # fmt: skip
    for mask in list(call.node.results())[1:]:
        yield Map((mask,), (out,), ranks, operands, flavour="computed")


def _scale_axes(call: Call, argument: str) -> _access.Axes:
    """One scale a channel, or one for all."""
    if "axis" in call.args:
        return (_access.Along(int(call.args["axis"]) % len(call.shape())),)
    return tuple(_access.Fixed() for _ in call.shape(argument))
