"""The dtypes that exchanged files may name, and what each is in memory and in torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from solbench.errors import SpecError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Dtype:
    name: str
    """As it stands in the files."""
    torch_name: str
    """``getattr(torch, torch_name)`` is the storage dtype."""
    bytes_per_element: int
    """Of one *stored* element; a packed one holds ``values_per_element`` values."""
    kind: Literal["float", "int", "bool"]
    values_per_element: int = 1

    @property
    def packed(self) -> bool:
        return self.values_per_element > 1


# torch has no unpacked 4-bit float: both spellings are stored two values a byte.
_TABLE = (
    Dtype("float64", "float64", 8, "float"),
    Dtype("float32", "float32", 4, "float"),
    Dtype("float16", "float16", 2, "float"),
    Dtype("bfloat16", "bfloat16", 2, "float"),
    Dtype("float8_e4m3fn", "float8_e4m3fn", 1, "float"),
    Dtype("float8_e5m2", "float8_e5m2", 1, "float"),
    Dtype("float4_e2m1", "float4_e2m1fn_x2", 1, "float", values_per_element=2),
    Dtype("float4_e2m1fn_x2", "float4_e2m1fn_x2", 1, "float", values_per_element=2),
    Dtype("int64", "int64", 8, "int"),
    Dtype("int32", "int32", 4, "int"),
    Dtype("int16", "int16", 2, "int"),
    Dtype("int8", "int8", 1, "int"),
    Dtype("bool", "bool", 1, "bool"),
)

DTYPES: dict[str, Dtype] = {dtype.name: dtype for dtype in _TABLE}
"""Name → what it is."""

_OTHER_NAMES = {
    "fp64": "float64", "double": "float64", "fp32": "float32", "float": "float32",
    "fp16": "float16", "half": "float16", "bf16": "bfloat16",
    "fp8": "float8_e4m3fn", "float8": "float8_e4m3fn", "fp4": "float4_e2m1fn_x2",
    "long": "int64", "int": "int32", "boolean": "bool",
}  # fmt: skip


def dtype_remedy(name: str) -> str:
    """What to write instead of an unknown dtype name."""
    bare = name.strip().lower().removeprefix("torch.")
    meant = _OTHER_NAMES.get(bare, bare)
    if meant in DTYPES:
        return f"Write '{meant}'."
    return f"Use one of: {', '.join(DTYPES)}."


def dtype_of(name: str) -> Dtype:
    """Look up a dtype by its name in the files; ``SpecError`` for an unknown one."""
    try:
        return DTYPES[name]
    except KeyError:
        raise SpecError(f"unknown dtype '{name}'", remedy=dtype_remedy(name)) from None


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype in which values of the named dtype are stored."""
    import torch

    dtype: torch.dtype = getattr(torch, dtype_of(name).torch_name)
    return dtype
