"""Tensors made from nothing: no input, no traffic."""

from __future__ import annotations

from collections.abc import Iterable

from solbench.bound import _pins
from solbench.bound._lifted import Lifted, Map, Pin
from solbench.bound.graph import Ref
from solbench.bound.rules._base import Call, rule
from solbench.bound.rules.elementwise import constant_pin


@rule(
    "aten.empty", "aten.empty_like", "aten.empty_strided", "aten.new_empty", "aten.ones",
    "aten.ones_like", "aten.new_ones", "aten.full", "aten.full_like", "aten.new_full",
    "aten.new_empty_strided", "aten.scalar_tensor", "aten.empty_permuted",
)  # fmt: skip
def filled(call: Call) -> Iterable[Lifted]:
    """The same value everywhere; shape and dtype arguments are not read."""
    made = call.created()
    value = call.args.get("fill_value", 1)
    if isinstance(value, Ref) or "empty" in call.node.op:
        yield made
        return
    constant = constant_pin(float(value))
    yield Map(
        made.outs, made.out_axes, made.ranks, (), ops=0,
        flavour="moved" if value in (0, 1) else "computed",
        pin=None if constant is None else lambda pins: Pin(constant, None),
    )  # fmt: skip


@rule("aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.zero")
def zeros(call: Call) -> Iterable[Lifted]:
    made = call.created()
    yield Map(made.outs, made.out_axes, made.ranks, (), pin=lambda pins: Pin(0.0, None), ops=0)


@rule("aten.fill")
def fill(call: Call) -> Iterable[Lifted]:
    if call.has("value"):
        yield call.pointwise("value", flavour="moved", pin=_pins.keep)
    elif float(call.args["value"]) == 0:
        yield from zeros(call)
    else:
        yield call.created()


@rule(
    "aten.arange", "aten.linspace", "aten.logspace", "aten.eye", "aten.rand", "aten.rand_like",
    "aten.randn", "aten.randn_like", "aten.randint", "aten.randint_like", "aten.randperm",
    "aten.bernoulli", "aten.normal", "aten.normal_functional", "aten.uniform", "aten.exponential",
    "aten.range", "aten.tril_indices", "aten.triu_indices", "aten.hann_window", "aten.new_tensor",
    "aten.random", "aten.geometric", "aten.log_normal", "aten.cauchy",
)  # fmt: skip
def distinct(call: Call) -> Iterable[Lifted]:
    """Different values along every dimension. A random draw does not read what it replaces."""
    made = call.created()
    yield Map(
        made.outs, made.out_axes, made.ranks, (), flavour="computed",
        coupled=frozenset(range(len(made.ranks))), ops=1,
    )  # fmt: skip


@rule("aten.multinomial", "aten.poisson", "aten.binomial")
def draws(call: Call) -> Iterable[Lifted]:
    yield call.everything()
