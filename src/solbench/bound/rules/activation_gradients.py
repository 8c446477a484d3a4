"""Gradients of activation functions and losses that autograd calls by their own names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from solbench.bound import _access
from solbench.bound._access import Table
from solbench.bound._lifted import Lifted, Map
from solbench.bound.rules._base import Call, rule


@rule(
    "aten.logit_backward", "aten.softshrink_backward", "aten.hardshrink_backward",
    "aten.rrelu_with_noise_backward", "aten.soft_margin_loss_backward",
    "aten.infinitely_differentiable_gelu_backward", "aten.gcd", "aten.lcm",
)  # fmt: skip
def pointwise(call: Call) -> Iterable[Lifted]:
    """The upstream gradient times a function of what the forward saw there."""
    yield call.pointwise()


@rule("aten.glu_backward")
def gated(call: Call) -> Iterable[Lifted]:
    """Both halves of the gradient read the upstream gradient and both halves of the input."""
    shape, dim = call.shape("self"), call.dim()
    size, half = shape[dim], shape[dim] // 2
    position = np.arange(size, dtype=np.int64)
    axes = _access.identity(len(shape))
    folded = (*axes[:dim], Table(dim, position % half), *axes[dim + 1 :])
    other = (*axes[:dim], Table(dim, (position + half) % size), *axes[dim + 1 :])
    operands = (
        call.operand("grad_output", folded),
        call.operand("self", axes),
        call.operand("self", other),
    )
    yield Map(call.outputs[:1], (axes,), shape, operands, flavour="computed", ops=4)
