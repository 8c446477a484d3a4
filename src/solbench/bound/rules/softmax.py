"""Softmax: a position needs its whole line; entries of -inf become zero.

Over a line of one element it is 1 whatever the element is, and its gradient 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from solbench.bound import _pins
from solbench.bound._lifted import Lifted, Map
from solbench.bound.rules._base import Call, rule


@rule("aten._softmax", "aten.softmax", "aten._safe_softmax")
def softmax(call: Call) -> Iterable[Lifted]:
    yield softmax_weights(call, call.dim(), "self", call.outputs[0])


def softmax_weights(call: Call, dim: int, scores: str | int, out: int) -> Map:
    """The softmax of some scores."""
    if call.values[out].shape[dim:][:1] == (1,):
        return call.created(out=out)
    return call.lines((dim,), argument=scores, out=out, pin=_pins.exponential, ops=5)


@rule("aten._log_softmax", "aten.log_softmax")
def log_softmax(call: Call) -> Iterable[Lifted]:
    yield call.lines((call.dim(),), pin=_pins.keep_minus_infinity, ops=5)


@rule("aten._softmax_backward_data")
def softmax_backward(call: Call) -> Iterable[Lifted]:
    """``output * (grad - sum(grad * output))``: zero where the output is zero."""
    dim = call.dim(rank=len(call.shape("output")))
    if call.shape("output")[dim:][:1] == (1,):
        yield replace(call.created(), pin=_pins.of_box(0.0, None))
        return
    made = call.lines((dim,), "grad_output", argument="output", pin=_pins.keep_zero, ops=4)
    yield replace(made, gate=0)


@rule("aten._log_softmax_backward_data")
def log_softmax_backward(call: Call) -> Iterable[Lifted]:
    dim = call.dim(rank=len(call.shape("output")))
    yield call.lines((dim,), "grad_output", argument="output", ops=4)


@rule("aten._weight_norm_interface")
def weight_norm(call: Call) -> Iterable[Lifted]:
    """``v * g / norm(v)`` with the norm over all dimensions but ``dim``."""
    count = len(call.shape("v"))
    dim = call.dim(rank=count)
    rest = tuple(d for d in range(count) if d != dim)
    yield call.lines(rest, "g", argument="v", ops=3)
    for out in list(call.node.results())[1:]:
        yield call.reduce(rest, "v", outs=(out,))
