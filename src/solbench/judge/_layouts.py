"""Where the tensors of a call lie in its buffers.

Inputs and outputs have a buffer each. Tensors start on cache lines; outputs have guard bytes
before, between and after them, so that a write beyond an output is seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import torch

from solbench.jail.protocol import Layout, ScalarField, TensorField

ALIGNMENT = 64
"""A cache line, and more than any vector load needs."""
GUARD_BYTES = 64
ArgumentValue = torch.Tensor | bool | int | float


def plan_layout(
    inputs: Mapping[str, ArgumentValue],
    outputs: Mapping[str, torch.Tensor],
    *,
    buffer_multiple: int,
    max_slots: int,
    slot_budget_bytes: int,
    single_bytes: float = math.inf,
) -> Layout:
    """The layout of a call with these inputs and outputs.

    The tensors' values do not matter. ``buffer_multiple``: a buffer's size is a multiple of it (a
    page on CPU). ``single_bytes``: calls larger than that have one slot.
    """
    arguments: list[TensorField | ScalarField] = []
    offset = 0
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor):
            field = _field(name, value, offset)
            offset = _align(field.offset + field.nbytes)
            arguments.append(field)
        else:
            arguments.append(ScalarField(name, value))
    output_fields, output_end = _output_fields(outputs)
    input_bytes = _round_up(max(offset, 1), buffer_multiple)
    output_bytes = _round_up(output_end, buffer_multiple)
    return Layout(
        arguments=tuple(arguments),
        outputs=output_fields,
        input_bytes=input_bytes,
        output_bytes=output_bytes,
        slots=slot_count(input_bytes + output_bytes, max_slots, slot_budget_bytes, single_bytes),
    )


def slot_count(
    slot_bytes: int, max_slots: int, budget_bytes: int, single_bytes: float = math.inf
) -> int:
    """As many slots as the budget allows: at least two, so that addresses alternate, unless one takes more than
    ``single_bytes``."""
    if slot_bytes > single_bytes:
        return 1
    return max(2, min(max_slots, budget_bytes // slot_bytes))


def tensor_arguments(layout: Layout) -> Iterator[TensorField]:
    """The arguments that are tensors, in order."""
    for argument in layout.arguments:
        if isinstance(argument, TensorField):
            yield argument


def guard_ranges(layout: Layout) -> Iterator[tuple[int, int]]:
    """Start and end of every stretch of the output buffer that no output covers."""
    position = 0
    for field in layout.outputs:
        if field.offset > position:
            yield position, field.offset
        position = field.offset + field.nbytes
    if position < layout.output_bytes:
        yield position, layout.output_bytes


def tensor_view(buffer: torch.Tensor, field: TensorField) -> torch.Tensor:
    """The tensor of a field inside a flat uint8 buffer, without a copy."""
    dtype: torch.dtype = getattr(torch, field.dtype)
    flat = buffer[field.offset : field.offset + field.nbytes]
    return flat.view(dtype).view(field.shape)


def bytes_of(value: ArgumentValue) -> torch.Tensor:
    """The bytes of a tensor argument in row-major order, flat uint8."""
    assert isinstance(value, torch.Tensor)
    return value.detach().contiguous().reshape(-1).view(torch.uint8)


def find_mismatch(layout: Layout, inputs: Mapping[str, ArgumentValue]) -> str:
    """The first input that is not what the worker was told, in words; empty if all fit.

    Custom entrypoints draw again for every call, and the worker's layout is fixed.
    """
    for argument in layout.arguments:
        got = _form(inputs[argument.name])
        planned = (
            f"{argument.dtype}{list(argument.shape)}"
            if isinstance(argument, TensorField)
            else repr(argument.value)
        )
        if got != planned:
            return f"input {argument.name} was {planned} at first and is {got} in a later call"
    return ""


def total_bytes(layouts: Sequence[Layout]) -> int:
    """Memory of all slots of these layouts."""
    return sum((each.input_bytes + each.output_bytes) * each.slots for each in layouts)


def _form(value: ArgumentValue) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    return f"{_dtype_name(value)}{list(value.shape)}"


def _output_fields(outputs: Mapping[str, torch.Tensor]) -> tuple[tuple[TensorField, ...], int]:
    fields: list[TensorField] = []
    offset = ALIGNMENT
    for name, value in outputs.items():
        field = _field(name, value, offset)
        fields.append(field)
        offset = _align(field.offset + field.nbytes + GUARD_BYTES)
    return tuple(fields), offset


def _field(name: str, value: torch.Tensor, offset: int) -> TensorField:
    nbytes = value.numel() * value.element_size()
    return TensorField(name, tuple(value.shape), _dtype_name(value), offset, nbytes)


def _dtype_name(value: torch.Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


def _align(offset: int) -> int:
    return _round_up(offset, ALIGNMENT)


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
