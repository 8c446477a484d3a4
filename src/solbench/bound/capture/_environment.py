"""What a program sees while it is watched: any device is the CPU, compilers and fast paths are off."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode

_aten = torch.ops.aten
_FAKE_TENSOR_LOG = logging.getLogger("torch._subclasses.fake_tensor")
_CPU = torch.device("cpu")
Contents = Callable[[torch.Tensor], torch.Tensor]


@contextmanager
def watched(contents_of: Contents | None = None) -> Iterator[None]:
    """Run programs written for a GPU on CPU tensors, with attention in one piece.

    ``contents_of`` answers ``tolist`` and ``numpy`` on fake tensors.
    """
    with ExitStack() as stack:
        # What a program warns about, and what torch logs when it fails, is not our output.
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(patch.object(_FAKE_TENSOR_LOG, "disabled", True))
        for target, name, replacement in _PATCHES:
            stack.enter_context(patch.object(target, name, replacement))
        stack.enter_context(patch.object(torch.autocast, "__init__", _autocast_on_cpu))
        stack.enter_context(_no_opaque_layers())
        stack.enter_context(_own_composites())
        stack.enter_context(_OnCpu(contents_of))
        yield


class _OnCpu(TorchFunctionMode):
    """Rewrites every device that a call names."""

    def __init__(self, contents_of: Contents | None) -> None:
        super().__init__()
        self._contents_of = contents_of

    def __torch_function__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.device:
            made = func(*args, **(kwargs or {}))
            return _CPU if _names_device(made) else made
        if self._contents_of is not None and func in _READERS:
            with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
                return func(self._contents_of(args[0]), *args[1:], **(kwargs or {}))
        for argument in args:
            if _names_device(argument):
                args = tuple(_CPU if _names_device(item) else item for item in args)
                break
        if not kwargs:
            return func(*args)
        if _names_device(kwargs.get("device")):
            kwargs = {**kwargs, "device": _CPU}
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        return func(*args, **kwargs)


_READERS = {torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__array__}


def _names_device(argument: Any) -> bool:
    if isinstance(argument, str):
        return argument.startswith(("cuda", "hip", "xpu", "mps"))
    return isinstance(argument, torch.device) and argument.type not in ("cpu", "meta")


def _unchanged(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """In place of a compiler, also as a decorator with options."""
    return function if function is not None else _unchanged


_script = torch.jit.script


def _unscripted(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The program's own functions stay as they are; torch scripts some of its own when first used (``jvp``)."""
    if str(getattr(function, "__module__", "")).startswith("torch."):
        return _script(function, *args, **kwargs)
    return _unchanged(function, *args, **kwargs)


def _linearized(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The derivative at a point, one tangent after the other; torch's own keeps what it made as constants."""

    def along(*tangents: Any) -> Any:
        return torch.func.jvp(function, primals, tangents)[1]

    return function(*primals), along


def _nothing(*args: Any, **kwargs: Any) -> None:
    """In place of a call that only concerns a device."""


_PATCHES: tuple[tuple[Any, str, Any], ...] = (
    (torch, "compile", _unchanged),
    (torch.jit, "script", _unscripted),
    (torch.func, "linearize", _linearized),
    (torch, "set_default_device", _nothing),
    (torch.cuda, "synchronize", _nothing),
    (torch.cuda, "empty_cache", _nothing),
    (torch.cuda, "set_device", _nothing),
)

_autocast_init = torch.autocast.__init__


def _autocast_on_cpu(
    self: torch.autocast,
    device_type: str,
    dtype: torch.dtype | None = None,
    enabled: bool = True,
    cache_enabled: bool | None = None,
) -> None:
    if device_type != "cpu":
        # A GPU's default differs from the CPU's.
        dtype = dtype or torch.float16
    _autocast_init(self, "cpu", dtype, enabled, cache_enabled)


@contextmanager
def _no_opaque_layers() -> Iterator[None]:
    """Recurrent and transformer layers as their parts, not as one call of a CPU library."""
    encoder, onednn = torch.backends.mha.get_fastpath_enabled(), torch._C._get_mkldnn_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    torch._C._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(encoder)
        torch._C._set_mkldnn_enabled(onednn)


@contextmanager
def _own_composites() -> Iterator[None]:
    """Two composites that a recorder would otherwise see too late: kernels on their autograd key.

    ``scaled_dot_product_attention`` is to reach the recorder whole, when no gradient flows through it: it
    is made of other calls, chosen by device and strides before any dispatch mode sees it. With gradients
    it is left to choose, so that its backward is right, and so with tangents; with dropout too, since no
    single call describes the dropped probabilities.

    ``_pad_packed_sequence`` writes lengths straight to memory, which fake tensors do not have.
    """
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    library.impl("scaled_dot_product_attention", _attention, "AutogradCPU")  # type: ignore[no-untyped-call]
    library.impl("_pad_packed_sequence", _pad_packed, "AutogradCPU")  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        library._destroy()  # type: ignore[no-untyped-call]


def _attention(*args: Any, **kwargs: Any) -> Any:
    operator = _aten.scaled_dot_product_attention.default
    tensors = [item for item in (*args, *kwargs.values()) if isinstance(item, torch.Tensor)]
    differentiated = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    dropout = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
    if forward_ad._current_level >= 0:  # none of the kernels that it chooses from carries tangents
        causal = args[5:6] or (kwargs.get("is_causal", False),)
        given = (*args[:4], kwargs.get("attn_mask"))[:4]
        rest = {k: v for k, v in kwargs.items() if k in ("scale", "enable_gqa")}
        return _aten._scaled_dot_product_attention_math(*given, dropout, *causal, None, **rest)[0]
    if differentiated or dropout > 0:
        return operator.decompose(*args, **kwargs)
    with torch._C._AutoDispatchBelowAutograd():
        return operator(*args, **kwargs)


def _pad_packed(
    data: torch.Tensor,
    batch_sizes: torch.Tensor,
    batch_first: bool,
    padding_value: float,
    total_length: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of every step, filled up to the largest batch, with the length of each sequence."""
    with torch._C._DisableTorchDispatch():
        sizes = batch_sizes.tolist()
    steps = []
    for step, size in enumerate(sizes):
        start = sum(sizes[:step])
        padding = [0, 0] * (data.dim() - 1) + [0, sizes[0] - size]
        rows = data[start : start + size]
        steps.append(torch.nn.functional.pad(rows, padding, value=padding_value))
    missing = max(0, total_length - len(sizes))
    steps += [torch.full_like(steps[0], padding_value)] * missing
    lengths = [sum(size > row for size in sizes) for row in range(sizes[0])]
    return torch.stack(steps, 1 if batch_first else 0), torch.tensor(lengths)
