"""Shortcuts through the fake tensor machinery, which dominates the capture of long programs.

Its own cache misses whenever a storage offset or an index differs, as in every step of an unrolled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager

from solbench.bound._replay import mutated_arguments, tensors_in
from solbench.bound.capture._operators import Operator

_aten = torch.ops.aten
_CPU = torch.device("cpu")
# Geometry only, with kernels that need no decomposition on meta tensors.
_VIEWS = frozenset(
    {
        _aten.select.int, _aten.slice.Tensor, _aten.view.default, _aten.t.default,
        _aten.transpose.int, _aten.permute.default, _aten.unsqueeze.default,
        _aten.squeeze.default, _aten.squeeze.dim, _aten.squeeze.dims, _aten.expand.default,
        _aten.detach.default, _aten.alias.default, _aten.unbind.int, _aten.split.Tensor,
        _aten.diagonal.default, _aten.unsafe_split.Tensor,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Shape:
    """Metadata of a fresh result."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype


class FakeCalls:
    """Runs operators on fake tensors, from memory where the same geometry came before."""

    def __init__(self, fake_mode: FakeTensorMode) -> None:
        self._fake_mode = fake_mode
        self._seen: dict[Any, tuple[type, tuple[_Shape | None, ...]]] = {}

    def call(self, operator: Operator, bound: dict[str, Any], args: Any, kwargs: Any) -> Any:
        """What ``operator.overload(*args, **kwargs)`` returns under the fake mode."""
        overload = operator.overload
        if overload in _VIEWS:
            return self._view(overload, args, kwargs)
        tensors = tensors_in(list(bound.values()))
        if not tensors or operator.changes_view or mutated_arguments(overload, bound):
            return overload(*args, **kwargs)
        key = (overload, torch.get_default_dtype(), *map(_key, bound.values()))
        found = self._seen.get(key)
        if found is not None:
            return self._made(*found)
        result = overload(*args, **kwargs)
        self._remember(key, tensors, result)
        return result

    def _view(self, overload: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
        with in_kernel_invocation_manager(self._fake_mode):
            made = overload(*args, **kwargs)
        if isinstance(made, torch.Tensor):
            return self._wrapped(made)
        return [self._wrapped(tensor) for tensor in made]

    def _wrapped(self, meta: torch.Tensor) -> torch.Tensor:
        wrap: Callable[..., torch.Tensor] = FakeTensor
        return wrap(self._fake_mode, meta, _CPU)

    def _made(self, kind: type, shapes: tuple[_Shape | None, ...]) -> Any:
        with in_kernel_invocation_manager(self._fake_mode):
            metas = [
                None
                if one is None
                else torch.empty_strided(one.shape, one.stride, dtype=one.dtype, device="meta")
                for one in shapes
            ]
        made = [None if meta is None else self._wrapped(meta) for meta in metas]
        return made[0] if kind is torch.Tensor else kind(made)

    def _remember(self, key: Any, tensors: list[torch.Tensor], result: Any) -> None:
        """Only calls whose results are all fresh, dense CPU tensors."""
        kind = torch.Tensor if isinstance(result, torch.Tensor) else type(result)
        results = [result] if kind is torch.Tensor else result
        if kind not in (torch.Tensor, tuple, list):
            return
        memories = {tensor.untyped_storage()._cdata for tensor in tensors}
        shapes: list[_Shape | None] = []
        for item in results:
            if item is None:
                shapes.append(None)
            elif isinstance(item, torch.Tensor) and _is_plain(item, memories):
                shapes.append(_Shape(tuple(item.shape), item.stride(), item.dtype))
                memories.add(item.untyped_storage()._cdata)
            else:
                return
        self._seen[key] = (kind, tuple(shapes))


def _is_plain(tensor: torch.Tensor, memories: set[int]) -> bool:
    return (
        tensor.untyped_storage()._cdata not in memories
        and tensor.storage_offset() == 0
        and not tensor.dtype.is_complex
        and not tensor.is_neg()
    )


def _key(argument: Any) -> Any:
    """What of an argument can decide the results' geometry."""
    if isinstance(argument, torch.Tensor):
        return (
            argument.shape, argument.stride(), argument.dtype, argument.is_conj(), argument.is_neg()
        )  # fmt: skip
    if isinstance(argument, list | tuple):
        return tuple(map(_key, argument))
    # The number 1 equals 1.0 and True, but promotes otherwise.
    return (type(argument), argument)
