"""How far another order of summation, or another way to divide, moves the steps of a program: patterns of ups
and downs by a few units in the last place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

_ULP = 2.0**-23
_STEP = 4 * _ULP
"""Of the result of an elementwise operation or a sum: a reciprocal in place of a division is within 1.5 units,
a fast exponential within 2 or 3."""
_PRODUCT_STEP = 32 * _ULP
"""Of the usual size of a row of products. Adding 7168 terms one after the other is off by 16 units in root mean
square, which is about the worst order."""

PRODUCTS = frozenset(
    ("mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "convolution", "_scaled_mm")
)
STEPS = frozenset(
    (
        "add", "sub", "rsub", "mul", "div", "reciprocal", "addcmul", "addcdiv", "lerp", "pow", "rsqrt", "sqrt",
        "square", "exp", "exp2", "expm1", "log", "log2", "log1p", "sigmoid", "silu", "tanh", "gelu", "erf",
        "softplus", "sin", "cos", "sum", "mean", "cumsum", "logsumexp", "linalg_vector_norm", "norm", "var",
        "std", "_softmax", "_log_softmax", "native_layer_norm", "native_group_norm",
    )
)  # fmt: skip
"""What rounds its result. What moves, compares or picks values is exact, and is not pushed."""


@dataclass(frozen=True, slots=True)
class Push:
    """Up where a bit of an element's place is set and down where it is not, or the other way round; without a
    bit, all elements alike. The bits of the places in all dimensions are added, so that two elements that
    differ in one dimension alone part by their places in it."""

    bit: int | None
    sign: float

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """+1 and -1, float32, of the tensor's shape or to be broadcast over it."""
        sign = torch.full((), self.sign, device=tensor.device)
        if self.bit is None:
            return sign
        for dim, size in enumerate(tensor.shape):
            places = (torch.arange(size, device=tensor.device) >> self.bit) & 1
            along = (places.to(torch.float32) * 2 - 1).view(-1, *[1] * (tensor.dim() - dim - 1))
            sign = sign * along
        return sign


def pushes(width: int) -> Iterator[Push]:
    """So many that any two elements of a line of ``width`` are pushed apart, each of them up once: their places
    differ in some bit."""
    for bit in range(max(1, (width - 1).bit_length())):
        yield from (Push(bit, 1.0), Push(bit, -1.0))


def push_result(operation: str, result: Any, push: Push) -> None:
    """Push what an operation has just made, in place: it is no one else's yet. float32 alone: of narrower
    results a kernel may round few another way, and their own unit hides the rest."""
    whole = result[0] if isinstance(result, (tuple, list)) and result else result
    if not isinstance(whole, torch.Tensor) or whole.dtype != torch.float32:
        return
    if operation in PRODUCTS:
        size = whole.square().mean(-1, keepdim=True).sqrt_() if whole.dim() else whole.abs()
        whole.addcmul_(size, push.of(whole), value=_PRODUCT_STEP)
    else:
        whole.addcmul_(whole, push.of(whole), value=_STEP)
