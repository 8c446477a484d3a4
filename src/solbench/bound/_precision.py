"""Precision classes: the narrowest format that holds a value exactly, and which class holds which."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import torch

_HELD: dict[str, frozenset[str]] = {}
"""Class → classes whose every value it represents exactly."""


def _define(name: str, *held: str) -> None:
    _HELD[name] = frozenset({name, *held, *(h for k in held for h in _HELD[k])})


_define("bit")
_define("sign", "bit")  # -1, 0 and 1
_define("nvfp4", "sign")
_define("int8", "nvfp4")  # twice an E2M1 value is a whole number up to 12
_define("fp8", "nvfp4")  # both fp8 formats hold every E2M1 value
_define("fp16", "fp8", "int8")  # 11 significant bits, 5 exponent bits as in E5M2
_define("bf16", "fp8", "int8")  # 8 significant bits: integers up to 256 are exact
_define("tf32", "fp16", "bf16")
_define("int", "int8")
_define("fp32", "tf32", "int")
_define("fp64", "fp32")

ORDER = tuple(_HELD)
"""From narrow to wide."""

_BY_DTYPE = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.bfloat16: "bf16",
    torch.float16: "fp16",
    torch.complex64: "fp32",
    torch.complex128: "fp64",
    torch.bool: "bit",
    torch.int8: "int8",
    torch.uint8: "int8",
}


@lru_cache(maxsize=64)
def of_dtype(dtype: torch.dtype) -> str:
    """Class of a tensor about which only its dtype is known."""
    if dtype in _BY_DTYPE:
        return _BY_DTYPE[dtype]
    name = str(dtype)
    if "float8" in name:
        return "fp8"
    if "float4" in name:
        return "nvfp4"
    return "int"


@lru_cache(maxsize=256)
def join(left: str, right: str) -> str:
    """Narrowest class that holds both."""
    return next(c for c in ORDER if left in _HELD[c] and right in _HELD[c])


def join_all(classes: Iterable[str]) -> str:
    result = "bit"
    for name in classes:
        result = join(result, name)
    return result


def of_product(left: str, right: str) -> str:
    """Class that holds every product of two values exactly; empty if only the dtype says.

    Floats of eight bits have at most 4 significant bits, so that a product has 8, as many as bf16.
    """
    for name in ("bit", "sign"):
        if name in (left, right):
            return left if right == name else right
    return "bf16" if {left, right} <= _HELD["fp8"] else ""


def cap(precision: str, dtype: torch.dtype) -> str:
    """Class of a value that is moved or cast to ``dtype``: what it was, or the dtype if that is narrower."""
    own = of_dtype(dtype)
    if precision in _HELD[own]:
        return precision
    return own


_E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=torch.float64)


def of_content(content: torch.Tensor) -> str:
    """Narrowest class that holds known contents exactly (a table of dequantised values, a mask)."""
    if content.is_complex() or content.numel() == 0 or content.numel() > 1 << 20:
        return of_dtype(content.dtype)
    wide = content.detach().to(torch.float64)
    if bool(((wide == 0) | (wide == 1)).all()):
        return "bit"
    if bool((wide.abs() <= 1).all() and (wide == wide.round()).all()):
        return "sign"
    if bool(torch.isin(wide.abs(), _E2M1).all()):
        return "nvfp4"
    if bool(((wide == wide.round()) & (wide >= -128) & (wide <= 255)).all()):
        return "int8"
    for dtype in (torch.float8_e4m3fn, torch.bfloat16, torch.float16, torch.float32):
        if bool((wide.to(dtype).to(torch.float64) == wide).all()):
            return cap(of_dtype(dtype), content.dtype)
    return of_dtype(content.dtype)
