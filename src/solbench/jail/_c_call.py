"""The plain C entry: a call's tensors in DLPack's layout. Shared by all devices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch

from solbench.jail._load import Rejected
from solbench.jail.protocol import Layout, ScalarField, Status, TensorField

Call = Callable[[], None]
"""Ready to run. Raises ``Rejected``, or whatever the submission raises."""


class _Device(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    """The ABI of DLPack's ``DLTensor``."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_CODES = {
    "float64": (2, 64), "float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16),
    "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8), "int64": (0, 64), "int32": (0, 32),
    "int16": (0, 16), "int8": (0, 8), "uint8": (1, 8), "bool": (6, 8),
}  # fmt: skip
"""dtype → DLPack's type code and bits; ``float4_e2m1fn_x2`` is two lanes of four bits."""
_CPU, _CUDA = 1, 2


def _dl_tensor(field: TensorField, address: int, device: torch.device) -> DLTensor:
    code, bits, lanes = (
        (17, 4, 2) if field.dtype == "float4_e2m1fn_x2" else (*_CODES[field.dtype], 1)
    )
    dimensions = len(field.shape)
    return DLTensor(
        data=address or None,
        device=_Device(_CUDA if device.type == "cuda" else _CPU, device.index or 0),
        ndim=dimensions,
        dtype=_DataType(code, bits, lanes),
        shape=(ctypes.c_int64 * dimensions)(*field.shape),
        strides=(ctypes.c_int64 * dimensions)(*_strides(field.shape)),
        byte_offset=0,
    )


def _strides(shape: Sequence[int]) -> list[int]:
    """In elements, of a contiguous tensor; as torch counts them where a size is 0."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return strides[::-1]


def c_call(
    what: str,
    function: Callable[..., Any],
    layout: Layout,
    addresses: Sequence[int],
    device: torch.device,
    stream: Callable[[], int] | None,
) -> Call:
    """A call of ``what``, a C function, on memory at ``addresses``: those of inputs, then of outputs.

    Address 0 is a null pointer: a tensor without memory.
    """
    fields = [field for field in layout.arguments if isinstance(field, TensorField)]
    tensors = [
        _dl_tensor(field, address, device)
        for field, address in zip((*fields, *layout.outputs), addresses, strict=True)
    ]
    inputs, outputs = tensors[: len(fields)], tensors[len(fields) :]
    numbers = [float(field.value) for field in layout.arguments if isinstance(field, ScalarField)]
    input_pointers = (ctypes.POINTER(DLTensor) * len(inputs))(*map(ctypes.pointer, inputs))
    output_pointers = (ctypes.POINTER(DLTensor) * len(outputs))(*map(ctypes.pointer, outputs))
    scalars = (ctypes.c_double * len(numbers))(*numbers)

    def call() -> None:
        raw_stream = ctypes.c_void_p(stream()) if stream else None
        code = function(input_pointers, output_pointers, scalars, raw_stream)
        if code:
            raise Rejected(Status.CALL_RAISED, f"{what} returned {code}")

    return call
