"""Pointwise operations: each output position needs the same position of every operand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

from solbench.bound import _access, _bands, _pins, _precision, _region, _spans
from solbench.bound._lifted import Alias, Few, Flavour, Lifted, Map, Operand, Pin, PinRule
from solbench.bound._pins import Pins
from solbench.bound._region import Box, Joint
from solbench.bound._spans import SpanRule
from solbench.bound.rules._base import Call, MissingRule, rule


def _names(text: str) -> list[str]:
    return [f"aten.{name}" for name in text.split()]


@rule(
    *_names(
        """acos acosh cos cosh digamma erfc lgamma log log10 log1p log2 logit polygamma reciprocal
        rsqrt xlogy atan2 hypot fmod remainder floor_divide
        ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf isfinite
        bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
        __and__ __or__ __xor__ __lshift__ __rshift__
        addcdiv addcmul lerp heaviside nextafter
        mish hardswish hardsigmoid elu celu selu log_sigmoid
        sigmoid_backward tanh_backward gelu_backward silu_backward threshold_backward
        hardswish_backward hardsigmoid_backward hardtanh_backward elu_backward softplus_backward
        leaky_relu_backward log_sigmoid_backward mish_backward prelu_kernel _prelu_kernel
        special_entr special_erfcx special_i0 special_i1 special_ndtri special_xlog1py
        complex polar angle logaddexp logaddexp2 mvlgamma signbit isposinf isneginf i0
        special_zeta special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
        special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
        special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
        special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
        special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
        special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
        special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
        special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 sinc ldexp frexp igamma
        igammac copysign
        """
    )
)
def computed(call: Call) -> Iterable[Lifted]:
    """Results are rounded anew."""
    yield call.pointwise(ops=1)
    yield from _further(call)


@rule("aten.eq")
def equal(call: Call) -> Iterable[Lifted]:
    """A number is equal to one of a line of different numbers at most."""
    made = call.pointwise(ops=1)
    lines = [
        d for d, n in enumerate(made.ranks) if n > 1 and _tells_apart(call, d, len(made.ranks))
    ]
    yield replace(made, few=tuple(Few(frozenset({d}), 1) for d in lines[:1]))


def _tells_apart(call: Call, dim: int, count: int) -> bool:
    """Whether one side is different numbers along a dimension, and the other does not vary along it."""
    if not (call.has("self") and call.has("other")):
        return False
    for line, other in (("self", "other"), ("other", "self")):
        shape, place = call.shape(line), dim - count
        content = call.known(line) if len(shape) >= -place else None
        flat = len(call.shape(other)) < -place or call.shape(other)[place] == 1
        if content is None or not flat or content.numel() != shape[place]:
            continue
        if len(set(content.reshape(-1).tolist())) == content.numel():
            return True
    return False


def _further(call: Call) -> Iterable[Lifted]:
    """Second results of the same shape (``frexp``, the buffer of ``log_sigmoid_forward``)."""
    for out in list(call.node.results())[1:]:
        if call.values[out].shape == call.shape(0):
            yield call.pointwise(out=out)


@rule(
    *_names(
        """sin sinh tan tanh asin asinh atan atanh erf erfinv expm1 sqrt square
        frac gelu silu leaky_relu hardshrink softshrink threshold
        deg2rad rad2deg special_log_ndtr special_i0e special_i1e"""
    )
)
def computed_zero(call: Call) -> Iterable[Lifted]:
    """Rounded anew; zero stays zero."""
    yield call.pointwise(pin=_pins.keep_zero)


@rule(*_names("abs conj_physical _conj _conj_physical _neg_view real imag nan_to_num"))
def moved_zero(call: Call) -> Iterable[Lifted]:
    """The operand's own values, or zero."""
    yield call.pointwise(flavour="moved", pin=_pins.keep_zero)


@rule("aten.relu")
def rectified(call: Call) -> Iterable[Lifted]:
    """Zero where the operand is zero or minus infinity."""
    made = call.pointwise(flavour="moved", pin=_pins.zero_below)
    yield replace(made, span=_spans.clamped(0.0, inf))


@rule("aten.neg", "aten.negative")
def negate(call: Call) -> Iterable[Lifted]:
    made = call.pointwise(flavour="moved", linear=True, pin=_pins.negated)
    yield replace(made, span=_spans.negated)


@rule(*_names("exp exp2 sigmoid softplus"))
def exponential(call: Call) -> Iterable[Lifted]:
    """Minus infinity becomes zero."""
    yield call.pointwise(pin=_pins.exponential)


@rule("aten.pow")
def power(call: Call) -> Iterable[Lifted]:
    """Zero to a positive power is zero."""
    exponent = None if call.has("exponent") else call.number("exponent")
    positive = exponent is not None and exponent > 0
    yield call.pointwise(pin=_pins.keep_zero if positive and call.has("self") else None)


@rule("aten.mul", "aten.multiply")
def multiply(call: Call) -> Iterable[Lifted]:
    given = tuple(call.tensors())
    pin = _scaled_pin(call) if len(given) == 1 else _pins.product
    yield call.pointwise(*given, flavour="product", linear=True, pin=pin)


def _scaled_pin(call: Call) -> PinRule:
    factor = call.number("other")
    if factor is None or factor > 0:
        return _pins.keep if factor is not None else _pins.keep_zero
    return _pins.negated if factor < 0 else lambda pins: Pin(0.0, None)


@rule("aten.div", "aten.divide", "aten.true_divide")
def divide(call: Call) -> Iterable[Lifted]:
    given = tuple(call.tensors())
    exact = call.args.get("rounding_mode") is None
    uniform = len(given) == 1 or call.value("other").numel == 1
    flavour: Flavour = "product" if exact else "computed"
    if exact and not uniform:  # a factor like any other, once it is inverted
        inverse = call.temporary(call.shape("other"), call.values[call.outputs[0]].dtype)
        call.shared["inverse", inverse] = True
        yield call.pointwise("other", out=inverse, flavour="computed", ops=0)
        yield call.pointwise("self", inverse, flavour="product", linear=True, pin=_pins.keep)
        return
    yield call.pointwise(*given, flavour=flavour, linear=exact and uniform, pin=_pins.keep)


@rule("aten.add")
def add(call: Call) -> Iterable[Lifted]:
    restored = _restored(call)
    if restored is not None:
        yield call.pointwise(restored, flavour="moved", linear=True, pin=_pins.keep, ops=0)
        return
    pin = _pins.total if len(tuple(call.tensors())) == 2 else _pins.keep_minus_infinity
    made = call.pointwise(flavour="offset", linear=True, pin=pin)
    yield replace(made, span=_sum_span(call, 1))


def _restored(call: Call) -> int | None:
    """``y`` of ``x + (y - x)``: how a rounding is written that gradients shall not see."""
    if call.args.get("alpha", 1) != 1 or not (call.has("self") and call.has("other")):
        return None
    first, second = call.id("self"), call.id("other")
    for x, difference in ((first, second), (second, first)):
        made = call.shared.get(("difference", difference))
        if isinstance(made, tuple) and made[1] == x:
            y = int(made[0])
            return y if call.values[y].shape == call.shape(0) else None
    return None


@rule("aten.sub", "aten.subtract", "aten.rsub")
def subtract(call: Call) -> Iterable[Lifted]:
    pin = None if "rsub" in call.node.op else _pins.keep_minus_infinity
    if call.args.get("alpha", 1) == 1 and call.has("self") and call.has("other"):
        call.shared["difference", call.outputs[0]] = (call.id("self"), call.id("other"))
    made = call.pointwise(flavour="offset", linear=True, pin=pin)
    yield replace(made, span=None if "rsub" in call.node.op else _sum_span(call, -1))


def _sum_span(call: Call, sign: int) -> SpanRule | None:
    """Sums and differences of whole numbers are whole."""
    if call.args.get("alpha", 1) != 1 or not call.has("self"):
        return None
    if call.has("other"):
        return _spans.total if sign > 0 else _spans.difference
    other = call.number("other")
    return None if other is None else _spans.shifted(sign * other)


@rule("aten.maximum", "aten.minimum", "aten.fmax", "aten.fmin")
def either(call: Call) -> Iterable[Lifted]:
    """One of the operands' values."""
    yield call.pointwise(flavour="moved")


@rule("aten.log_sigmoid_forward", "aten.native_dropout", "aten.rrelu_with_noise")
def with_buffer(call: Call) -> Iterable[Lifted]:
    yield call.pointwise(pin=_pins.keep_zero)
    yield from _further(call)


@rule("aten.dropout", "aten.alpha_dropout", "aten.feature_dropout", "aten.native_dropout_backward")
def dropout(call: Call) -> Iterable[Lifted]:
    yield call.pointwise(pin=_pins.keep_zero)


@rule("aten.glu")
def gated(call: Call) -> Iterable[Lifted]:
    """First half times sigmoid of the second half, along one dimension."""
    dim, shape = call.dim(), call.shape(0)
    axes = _access.identity(len(shape))
    second = (*axes[:dim], _access.Along(dim, shape[dim]), *axes[dim + 1 :])
    operands = (call.operand("self", axes), call.operand("self", second))
    yield Map(call.outputs[:1], (axes,), shape, operands, flavour="computed", ops=2)


# ---- copies and casts ----


@rule(
    *_names(
        """clone contiguous detach alias lift_fresh lift_fresh_copy lift detach_copy alias_copy
        positive resolve_conj resolve_neg _to_copy to _autocast_to_reduced_precision
        _autocast_to_full_precision type_as view_as_real_copy float half bfloat16 double"""
    )
)
def cast(call: Call) -> Iterable[Lifted]:
    """The same values, in another dtype or memory format."""
    if not call.has("self"):  # a number
        yield call.created()
        return
    source, target = call.value("self"), call.values[call.outputs[0]]
    if source.dtype == target.dtype and source.shape == target.shape:
        yield Alias(target.id, call.id("self"))
        return
    if source.shape != target.shape:
        raise MissingRule(call.node.op)
    narrowing = _precision.of_dtype(target.dtype) == "int" and source.dtype.is_floating_point
    yield call.pointwise("self", flavour="moved", linear=not narrowing, pin=_pins.keep, ops=1)


@rule("aten.copy")
def copy(call: Call) -> Iterable[Lifted]:
    """``self.copy_(src)``: the new version is the source, broadcast and cast."""
    if call.has("src"):
        yield call.pointwise("src", flavour="moved", linear=True, pin=_pins.keep)
    else:
        yield call.created()


# ---- selection by masks ----


def mask_box(call: Call, argument: str, *, inverted: bool = False) -> tuple[bool, Box | None]:
    """(known?, box of output positions where the mask is true; ``None``: nowhere).

    A mask that is too large to keep counts as one that leaves nothing, either way round.
    """
    content = call.mask(argument)
    ranks = call.shape(0)
    if content is None:
        inside = call.where(argument, lambda value: (value == 0) == inverted)
        if isinstance(inside, str):
            return call.hides(call.id(argument), call.node), None
        axes = _access.broadcast(call.shape(argument), ranks)
        return True, None if inside is None else _access.push(inside, axes, ranks)
    mask = content.bool().cpu().numpy()
    box = _pins.box_of_mask(~mask if inverted else mask)
    if box is None:
        return True, None
    return True, _access.push(box, _access.broadcast(mask.shape, ranks), ranks)


def constant_pin(value: float | None) -> float | None:
    """The constants that the analysis follows: 0, and both infinities with their finite stand-ins."""
    if value is None:
        return None
    if abs(value) >= 1e4:
        return inf if value > 0 else -inf
    return 0.0 if value == 0 else None


@rule("aten.masked_fill")
def masked_fill(call: Call) -> Iterable[Lifted]:
    """Constant where the mask is true. With a known mask, ``self`` is only needed elsewhere."""
    ranks = call.shape(0)
    known, free = mask_box(call, "mask", inverted=True)
    operands = [] if known and free is None else [_spread(call, "self", within=free)]
    operands += [_spread(call, a) for a in ("mask", "value") if call.has(a)]
    value = constant_pin(call.number("value"))
    pin = _pins.of_box(value, free) if known and value is not None else None
    updates = mask_box(call, "mask")[1] if known else None
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, tuple(operands),
        pin=pin, updates=updates if free is not None else None,
    )  # fmt: skip


def _spread(call: Call, argument: str, *, within: Box | None = None) -> Operand:
    axes = _access.broadcast(call.shape(argument), call.shape(0))
    return call.operand(argument, axes, within=within)


@rule("aten.where")
def where(call: Call) -> Iterable[Lifted]:
    """Either operand, by a mask; with a known mask each is needed only where it is taken."""
    if "self" not in call.args:
        raise MissingRule("where with one argument has a shape that depends on values")
    ranks = call.shape(0)
    known, taken = mask_box(call, "condition")
    rest = mask_box(call, "condition", inverted=True)[1]
    operands = []
    if call.has("self") and not (known and taken is None):
        operands.append(_spread(call, "self", within=taken))
    if call.has("other") and not (known and rest is None):
        operands.append(_spread(call, "other", within=rest))
    operands.append(_spread(call, "condition"))
    yield Map(
        call.outputs[:1], (_access.identity(len(ranks)),), ranks, tuple(operands),
        pin=_where_pin(call, taken, rest) if known else None,
    )  # fmt: skip


def _where_pin(call: Call, taken: Box | None, rest: Box | None) -> PinRule:
    """One choice is a constant; of the other choice, an operand, what is that constant too."""
    given = [
        name
        for name, part in (("self", taken), ("other", rest))
        if call.has(name) and part is not None
    ]
    numbers = {name: constant_pin(call.number(name)) for name in ("self", "other")}

    def combine(pins: Pins) -> Pin | None:
        named = dict(zip(given, pins, strict=False))
        for name, free, choice in (("self", rest, "other"), ("other", taken, "self")):
            own, value = named.get(name), numbers[name]
            if value is None and own is not None and own.free is None:
                value = own.value
            if value is not None:
                return _pins.of_box(value, free)([named[choice]] if choice in named else [])
        return None

    return combine


def _only(value: float, free: Box | None) -> PinRule:
    return lambda pins: _pins.of_box(value, free)([])


@rule("aten.tril", "aten.triu")
def triangle(call: Call) -> Iterable[Lifted]:
    """Zero above or below a diagonal of the last two dimensions."""
    ranks, diagonal, lower = call.shape(), int(call.args["diagonal"]), "tril" in call.node.op
    axes = _access.identity(len(ranks))
    free = triangle_box(ranks, diagonal, lower=lower)
    operands = () if free is None else (call.operand("self", axes, within=free),)
    zeros = _pins.of_box(0.0, free) if operands else _only(0.0, None)
    rest = triangle_box(ranks, diagonal + 1 if lower else diagonal - 1, lower=not lower)

    def pin(pins: Pins) -> Pin | None:
        """Of a matrix of minus infinities those that are kept say more than the zeros."""
        first = pins[0] if pins else None
        masked = first is not None and first.value == -inf and first.free is None
        return Pin(-inf, rest) if masked else zeros(pins)

    yield Map(call.outputs[:1], (axes,), ranks, operands, pin=pin)


def triangle_box(shape: tuple[int, ...], diagonal: int, *, lower: bool) -> Box | None:
    """The kept triangle of the last two dimensions as a box over the whole shape."""
    rows, columns = shape[-2:]
    kept = _bands.triangle(rows, columns, diagonal, lower=lower)
    if rows * columns > _bands.DENSE_ELEMENTS:
        joint = Joint((len(shape) - 2, len(shape) - 1), kept)
        return _region.make_box([range(n) for n in shape], [joint], shape)
    box = _pins.box_of_mask(kept.dense())
    if box is None:
        return None
    return _access.push(box, _access.broadcast((rows, columns), shape), shape)
