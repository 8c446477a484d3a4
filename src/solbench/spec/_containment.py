"""Running a problem's own program without letting it change the process around it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class TorchState:
    """What a program may set for all that follows it."""

    default_dtype: torch.dtype
    default_device: torch.device
    grad_enabled: bool
    matmul_precision: str
    cudnn_allow_tf32: bool
    deterministic: bool

    @classmethod
    def current(cls) -> TorchState:
        return cls(
            default_dtype=torch.get_default_dtype(),
            default_device=torch.get_default_device(),
            grad_enabled=torch.is_grad_enabled(),
            matmul_precision=torch.get_float32_matmul_precision(),
            cudnn_allow_tf32=torch.backends.cudnn.allow_tf32,
            deterministic=torch.are_deterministic_algorithms_enabled(),
        )

    def apply(self) -> None:
        """Make it so; what is so already is left alone."""
        now = TorchState.current()
        if self.default_dtype != now.default_dtype:
            torch.set_default_dtype(self.default_dtype)
        if self.default_device != now.default_device:
            # A default device is a mode that every factory call passes through: none for the CPU.
            on_cpu = self.default_device.type == "cpu"
            torch.set_default_device(None if on_cpu else self.default_device)
        if self.grad_enabled != now.grad_enabled:
            torch.set_grad_enabled(self.grad_enabled)
        if self.matmul_precision != now.matmul_precision:
            torch.set_float32_matmul_precision(self.matmul_precision)
        if self.cudnn_allow_tf32 != now.cudnn_allow_tf32:
            torch.backends.cudnn.allow_tf32 = self.cudnn_allow_tf32
        if self.deterministic != now.deterministic:
            torch.use_deterministic_algorithms(self.deterministic)


@contextmanager
def contained() -> Iterator[None]:
    """What is set in torch within is as before at the end; what is printed goes to stderr, since
    stdout is for results."""
    before = TorchState.current()
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        before.apply()


def under_state(function: Callable[..., Any], state: TorchState) -> Callable[..., Any]:
    """``function``, called with the settings that its module made when it was loaded."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with contained():
            state.apply()
            return function(*arguments, **keywords)

    return call
