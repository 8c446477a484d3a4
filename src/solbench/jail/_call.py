"""One call of a solution on one slot: its arguments, its checks, its results. Shared by all devices."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from solbench.jail._load import Entry, Rejected
from solbench.jail.protocol import Artifact, Layout, ScalarField, Status, TensorField

Call = Callable[[], None]
"""Ready to run. Raises ``Rejected``, or whatever the submission raises."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The Python values of one call."""

    arguments: tuple[Any, ...]
    outputs: tuple[torch.Tensor, ...]


def torch_dtype(name: str) -> torch.dtype:
    """Raises ``Rejected`` for a dtype that this torch does not have."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise Rejected(Status.UNSUPPORTED, f"this torch has no dtype {name}")
    return found


def make_slot(layout: Layout, tensor: Callable[[TensorField, bool], torch.Tensor]) -> Slot:
    """``tensor(field, in_outputs)`` views a field in the slot's input or output buffer."""
    arguments = tuple(
        field.value
        if isinstance(field, ScalarField)
        else tensor(field, field.name in layout.mutates)
        for field in layout.arguments
    )
    return Slot(arguments, tuple(tensor(field, True) for field in layout.outputs))


def describe(layout: Layout) -> dict[str, Any]:
    """What ``setup`` is told: input name → scalar, or its shape and dtype."""
    return {
        field.name: field.value
        if isinstance(field, ScalarField)
        else {"shape": field.shape, "dtype": torch_dtype(field.dtype)}
        for field in layout.arguments
    }


def make_call(
    entry: Entry,
    artifact: Artifact,
    layout: Layout,
    slot: Slot,
    stream: Callable[[], int] | None = None,
) -> Call:
    """The call of this slot. ``stream`` gives the raw stream for the plain C entry."""
    if artifact.kind == "c":
        return _c_call(entry, layout, slot, stream)
    function = entry.function
    if artifact.destination_passing:
        everything = (*slot.arguments, *slot.outputs)

        def call_in_place() -> None:
            function(*everything)

        return call_in_place

    def call_and_store() -> None:
        store(function(*slot.arguments), layout.outputs, slot.outputs)

    return call_and_store


def store(result: Any, fields: Sequence[TensorField], outputs: Sequence[torch.Tensor]) -> None:
    """Copy a value-returning solution's results into the judge's buffers, or raise ``Rejected``."""
    results = _in_order(result, fields)
    if len(results) != len(outputs):
        raise Rejected(
            Status.WRONG_COUNT, f"returned {len(results)} outputs instead of {len(outputs)}"
        )
    with torch.no_grad():
        for value, field, output in zip(results, fields, outputs, strict=True):
            output.copy_(_checked(value, field, output))


def _in_order(result: Any, fields: Sequence[TensorField]) -> Sequence[Any]:
    # Subclasses are common (torch.topk's result, NamedTuple, OrderedDict); the base class's own
    # methods read them, so that no code of theirs runs here.
    if isinstance(result, tuple):
        return list(tuple.__iter__(result))
    if isinstance(result, list):
        return list(list.__iter__(result))
    if isinstance(result, dict):
        by_name = dict(dict.items(result))
        names = [field.name for field in fields]
        if not by_name.keys() >= set(names):
            raise Rejected(Status.WRONG_COUNT, f"returned {list(by_name)[:8]} instead of {names}")
        return [by_name[name] for name in names]
    return (result,)


def _checked(value: Any, field: TensorField, output: torch.Tensor) -> torch.Tensor:
    # An exact type: a subclass could compute lazily, or lie about its shape.
    if type(value) in (bool, int, float) and not field.shape:
        return torch.tensor(value, dtype=output.dtype)
    if type(value) is not torch.Tensor:
        raise Rejected(
            Status.NOT_A_TENSOR,
            f"output '{field.name}' is a {type(value).__name__}, no torch.Tensor",
        )
    if tuple(value.shape) != field.shape:
        raise Rejected(
            Status.WRONG_SHAPE,
            f"output '{field.name}' has shape {tuple(value.shape)} instead of {field.shape}",
        )
    if value.dtype != output.dtype:
        raise Rejected(
            Status.WRONG_DTYPE, f"output '{field.name}' is {value.dtype} instead of {output.dtype}"
        )
    return value


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


def _dl_tensor(tensor: torch.Tensor, dtype: str) -> DLTensor:
    code, bits, lanes = (17, 4, 2) if dtype == "float4_e2m1fn_x2" else (*_CODES[dtype], 1)
    dimensions = tensor.dim()
    on_cuda = tensor.is_cuda
    return DLTensor(
        data=tensor.data_ptr(),
        device=_Device(_CUDA if on_cuda else _CPU, tensor.get_device() if on_cuda else 0),
        ndim=dimensions,
        dtype=_DataType(code, bits, lanes),
        shape=(ctypes.c_int64 * dimensions)(*tensor.shape),
        strides=(ctypes.c_int64 * dimensions)(*tensor.stride()),
        byte_offset=0,
    )


def _c_call(entry: Entry, layout: Layout, slot: Slot, stream: Callable[[], int] | None) -> Call:
    pairs = list(zip(layout.arguments, slot.arguments, strict=True))
    inputs = [
        _dl_tensor(value, field.dtype) for field, value in pairs if isinstance(field, TensorField)
    ]
    outputs = [
        _dl_tensor(value, field.dtype)
        for field, value in zip(layout.outputs, slot.outputs, strict=True)
    ]
    numbers = [float(field.value) for field in layout.arguments if isinstance(field, ScalarField)]
    input_pointers = (ctypes.POINTER(DLTensor) * len(inputs))(*map(ctypes.pointer, inputs))
    output_pointers = (ctypes.POINTER(DLTensor) * len(outputs))(*map(ctypes.pointer, outputs))
    scalars = (ctypes.c_double * len(numbers))(*numbers)
    function = entry.function

    def call() -> None:
        raw_stream = ctypes.c_void_p(stream()) if stream else None
        code = function(input_pointers, output_pointers, scalars, raw_stream)
        if code:
            raise Rejected(Status.CALL_RAISED, f"the C entry returned {code}")

    return call
