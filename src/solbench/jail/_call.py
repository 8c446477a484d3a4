"""One call of a solution on one slot: its arguments, its checks, its results. Shared by all devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from solbench.jail._c_call import Call, c_call
from solbench.jail._load import Entry, Rejected
from solbench.jail.protocol import Artifact, Layout, ScalarField, Status, TensorField


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
        values = [each for each in (*slot.arguments, *slot.outputs) if torch.is_tensor(each)]
        device = values[0].device
        addresses = [each.data_ptr() for each in values]
        return c_call("the C entry", entry.function, layout, addresses, device, stream)
    function = entry.function
    if artifact.destination_passing:
        everything = (*slot.arguments, *slot.outputs)

        def call_in_place() -> None:
            function(*everything)

        return call_in_place

    def call_and_store() -> None:
        store(function(*slot.arguments), layout.outputs, slot.outputs)

    return call_and_store


def call_setup(
    entry: Entry,
    artifact: Artifact,
    layout: Layout,
    device: torch.device,
    stream: Callable[[], int] | None = None,
) -> None:
    """Let the solution plan for this layout, if it wants to. Raises what it raises."""
    if entry.setup is None:
        return
    if artifact.kind != "c":
        entry.setup(describe(layout))
        return
    tensors = [field for field in layout.arguments if isinstance(field, TensorField)]
    nowhere = [0] * (len(tensors) + len(layout.outputs))
    c_call("setup", entry.setup, layout, nowhere, device, stream)()


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
