"""Running a reference in another precision than it is written for, or with a part of its work left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

_PRECISIONS = frozenset({torch.float32, torch.float16, torch.bfloat16})
_NARROW = _PRECISIONS | {torch.float8_e4m3fn, torch.float8_e5m2}


def run_float64(function: Callable[..., Any], inputs: Mapping[str, Any]) -> Any:
    """What ``function`` returns when every floating value, its casts included, is float64.

    A cast to FP8 does round: there it is what the function is meant to do, not the precision it happens to
    work in. Packed four-bit inputs stay: the function takes them apart itself.
    """
    wide = {name: _private(value) for name, value in inputs.items()}
    with torch.no_grad(), Float64Mode():  # type: ignore[no-untyped-call]
        return function(*wide.values())


def run_without_last_step(function: Callable[..., Any], inputs: Mapping[str, Any]) -> Any:
    """What ``function`` returns when each contraction and reduction misses the end of its range."""
    with torch.no_grad(), _LastStepDropped():  # type: ignore[no-untyped-call]
        return function(*inputs.values())


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in _NARROW:
        return value.to(torch.float64)
    return value


def _private(value: Any) -> Any:
    """A copy, widened: the function may write into its inputs."""
    wide = _widened(value)
    return wide.clone() if wide is value and isinstance(value, torch.Tensor) else wide


class Float64Mode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Casts to, and tensors made in, a narrower float are float64 instead."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in _PRECISIONS:
            kwargs["dtype"] = torch.float64
        return tree_map(_widened, func(*args, **kwargs))


class _LastStepDropped(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Matrix products lose the last sixteenth of k, sums and means that of their last axis."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        args = list(args)
        if name in ("mm", "bmm", "mv", "_scaled_mm"):
            args[0] = _cut(args[0])
        elif name in ("addmm", "baddbmm", "addmv"):
            args[1] = _cut(args[1])
        elif name in ("sum", "mean") and args[0].dim() and args[0].is_floating_point():
            args[0] = _cut(args[0])
        elif name == "convolution":
            args[1] = _cut(args[1], dim=1)
        return func(*args, **(kwargs or {}))


def _cut(operand: torch.Tensor, dim: int = -1) -> torch.Tensor:
    size = operand.shape[dim]
    step = max(1, size // 16)
    kept = torch.arange(size, device=operand.device) < size - step
    shape = [1] * operand.dim()
    shape[dim] = size
    return operand * kept.view(shape).to(operand.dtype)
