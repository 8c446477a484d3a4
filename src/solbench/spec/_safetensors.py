"""Inputs that lie in safetensors files."""

from __future__ import annotations

import torch

from solbench.errors import MissingExtra, SpecError
from solbench.spec._blobs import find_blob
from solbench.spec._dtypes import torch_dtype
from solbench.spec._problem import Problem
from solbench.spec._workload import SafetensorsInput


def load_safetensors(
    problem: Problem,
    name: str,
    shape: tuple[int, ...] | None,
    dtype: str,
    descriptor: SafetensorsInput,
) -> torch.Tensor:
    """The tensor on the CPU; ``SpecError`` if file, key, shape or dtype are not as declared."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError as error:
        raise MissingExtra("safetensors", "data", error) from error
    file = find_blob(problem, descriptor.path)
    try:
        with safe_open(file, framework="pt") as tensors:
            if descriptor.tensor_key not in tensors.keys():  # noqa: SIM118 (no container, has keys())
                known = ", ".join(sorted(tensors.keys())[:20])
                raise SpecError(
                    f"holds no tensor '{descriptor.tensor_key}' for input '{name}'",
                    file=file,
                    remedy=f"It holds: {known}.",
                )
            tensor: torch.Tensor = tensors.get_tensor(descriptor.tensor_key)
    except (OSError, SafetensorError) as error:
        raise SpecError(f"cannot be read: {error}", file=file) from None
    expected = torch_dtype(dtype)
    if tuple(tensor.shape) != shape or tensor.dtype != expected:
        raise SpecError(
            f"'{descriptor.tensor_key}' is {tensor.dtype} {list(tensor.shape)}; input '{name}' is "
            f"declared as {expected} {'scalar' if shape is None else list(shape)}",
            file=file,
        )
    return tensor.contiguous()
