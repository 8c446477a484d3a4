"""How many instructions of the special-function units a pointwise operation takes: an estimate.

These units give 2^x, log2 x, 1/x, 1/√x, sin, cos and tanh; other functions are made of these and of ordinary
multiply-adds. The least number in common use stands here: a sigmoid, for one, needs a single tanh.
"""

from __future__ import annotations

from collections.abc import Mapping

from solbench.bound._lifted import Map
from solbench.bound.graph import Value

_ONE = """acos acosh asin asinh atan atan2 atanh celu cos cosh digamma elu erf erfc exp exp2 expm1 gelu
    gelu_backward log log10 log1p log2 log_sigmoid log_sigmoid_forward logit reciprocal rsqrt selu
    sigmoid silu silu_backward
    sin sinh sqrt tanh hypot softplus_backward elu_backward xlogy special_entr special_ndtri glu"""
_TWO = "softplus mish mish_backward tan logaddexp logaddexp2 sinc special_i0 special_i1"
_PER_ELEMENT = {**dict.fromkeys(_ONE.split(), 1), **dict.fromkeys(_TWO.split(), 2)}
_SOFTMAX = ("softmax", "attention", "logsumexp", "logcumsumexp", "cross_entropy")
_CELLS = {"lstm": 5, "gru": 3, "rnn_tanh": 1}
"""Recurrent cells: sigmoids and tanhs for each element of the state."""


def special_ops(op: str, item: Map, points: int, values: Mapping[int, Value]) -> int:
    """Instructions for ``points`` elements of one lifted node of the operation ``op``."""
    name = op.split(".")[1].rstrip("_") if op.count(".") else op
    if name in ("div", "divide", "true_divide"):
        return points if _divides_by_many(item, values) else 0
    if any(part in name for part in _SOFTMAX):
        return points if item.coupled and "backward" not in name else 0
    for cell, count in _CELLS.items():
        if name.startswith(cell):
            return count * points
    return _PER_ELEMENT.get(name, 0) * points


def _divides_by_many(item: Map, values: Mapping[int, Value]) -> bool:
    """A divisor that is one a row, or one in all, is inverted once."""
    if len(item.operands) < 2:
        return False
    return values[item.operands[1].value].numel == values[item.outs[0]].numel
