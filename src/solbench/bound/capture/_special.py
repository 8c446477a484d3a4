"""Calls that are not recorded as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from solbench.bound.capture._builder import FROM_FLOATS
from solbench.bound.capture._foreach import PREFIX, for_each
from solbench.bound.capture._operators import describe
from solbench.bound.graph import Ref
from solbench.errors import CaptureError

if TYPE_CHECKING:
    from solbench.bound.capture._recorder import Recorder

_aten = torch.ops.aten


def _index(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Boolean index masks become the positions that they select."""
    operator = describe(func)
    bound = operator.bind(args, kwargs)
    needed = func is _aten.index.Tensor
    indices: list[torch.Tensor | None] = []
    for index in bound["indices"]:
        if index is None or index.dtype not in (torch.bool, torch.uint8):
            indices.append(index)
        elif needed or recorder.builder.levels[recorder.value_of(index)] < FROM_FLOATS:
            with recorder:
                indices.extend(_aten.unbind.int(_aten.nonzero(index), 1))
        else:
            indices.append(index)
    bound["indices"] = indices
    return recorder.record(operator, tuple(bound.values()), {})


def _as_strided(
    recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Strides reach beyond the tensor that they are asked of: the parent is what owns the memory."""
    operator, location = describe(func), recorder.location()
    bound = operator.bind(tuple(map(recorder.faked, args)), kwargs)
    if bound["storage_offset"] is None:
        bound["storage_offset"] = bound["self"].storage_offset()
    owner = recorder.alias_of(bound["self"])
    while owner.view is not None and owner.view.parent.geometry[3] == owner.geometry[3]:
        owner = owner.view.parent
    result = recorder.calls.call(operator, bound, tuple(bound.values()), {})
    rest = {name: recorder.argument(bound[name], [], location) for name in bound if name != "self"}
    arguments = {"self": Ref(recorder.builder.read(owner, location)), **rest}
    recorder.finish(operator, bound, arguments, [owner], result, location)
    return result


def _masked_select(
    recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    bound = describe(func).bind(args, kwargs)
    with recorder:
        source, mask = torch.broadcast_tensors(  # type: ignore[no-untyped-call]
            bound["self"], bound["mask"]
        )
        return _aten.index.Tensor(source, [mask])


def _copy(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``x[i] += y`` ends with a copy of a view to itself, which is nothing."""
    if recorder.alias_of(args[0]) is recorder.alias_of(args[1]):
        return args[0]
    return recorder.record(describe(func), args, kwargs)


def _pack_sequence(
    recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Packing by known lengths: what it gathers is recorded, and the sizes of its steps stay real.

    Recurrent layers read those sizes from memory, which fake tensors do not have.
    """
    bound = describe(func).bind(args, kwargs)
    lengths = bound["lengths"]
    if isinstance(lengths, FakeTensor):
        lengths = recorder.contents_of(lengths)
    with torch._C._DisableTorchDispatch():
        numbers = lengths.tolist()
        sizes = [sum(number > step for number in numbers) for step in range(max(numbers))]
        step_sizes = torch.tensor(sizes)
    with recorder:
        steps = bound["input"].transpose(0, 1) if bound["batch_first"] else bound["input"]
        packed = torch.cat([steps[step, :size] for step, size in enumerate(sizes)])
    return packed, step_sizes


def _whole(recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A composite that is recorded as one call."""
    return recorder.record(describe(func), args, kwargs)


SPECIAL: dict[Any, Callable[..., Any]] = {
    _aten.index.Tensor: _index,
    _aten._unsafe_index.Tensor: _index,
    _aten.index_put.default: _index,
    _aten.index_put_.default: _index,
    _aten._index_put_impl_.default: _index,
    _aten.as_strided.default: _as_strided,
    _aten.copy_.default: _copy,
    _aten.masked_select.default: _masked_select,
    _aten._pack_padded_sequence.default: _pack_sequence,
    _aten.scaled_dot_product_attention.default: _whole,
}
"""Overload → what is done instead of recording it."""


_OTHER_LAYOUTS = {
    "nested": ("_nested_tensor_from_tensor_list", "_nested_tensor_from_mask", "_nested_view"),
    "sparse": ("sparse_coo_tensor", "sparse_compressed", "sparse_csr", "to_sparse", "sparse_mm"),
}
_INSTEAD = {
    "nested": "loop over the parts, or pad them and say how long they are",
    "sparse": "write it with indices (index_add, gather), or as a dense matrix",
}


def special(func: Any) -> Callable[..., Any] | None:
    """What is done instead of recording a call; ``None`` if it is recorded."""
    if func in SPECIAL or not isinstance(func, torch._ops.OpOverload):
        return SPECIAL.get(func)
    name: str = func._schema.name
    if name.startswith(PREFIX):
        return for_each
    for layout, words in _OTHER_LAYOUTS.items():
        if any(word in name for word in words) and "left_aligned" not in name:
            return partial(_refuse_layout, layout)
    return None


def _refuse_layout(
    layout: str, recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    what = f"{layout} tensors are not followed: in the reference, {_INSTEAD[layout]}"
    raise CaptureError(what, location=recorder.location())


def higher_order(
    recorder: Recorder, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """An operation that takes functions, as what it computes: attention with functions of scores."""
    if str(func) != "flex_attention":
        raise CaptureError(f"higher-order operation {func}", location=recorder.location())
    from torch._higher_order_ops.flex_attention import math_attention

    with recorder:
        return math_attention(*args, **kwargs)
