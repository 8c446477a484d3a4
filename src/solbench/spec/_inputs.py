"""Inputs of a workload: their layout without allocating, and their values for a seed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch

from solbench.errors import ReferenceFailed, SpecError
from solbench.spec._containment import contained
from solbench.spec._definition import TensorSpec
from solbench.spec._dtypes import dtype_of, torch_dtype
from solbench.spec._official import Draw, draw_official, draw_plain
from solbench.spec._problem import Problem
from solbench.spec._reference import describe, line_in, load_entrypoint, reference_file
from solbench.spec._safetensors import load_safetensors
from solbench.spec._shapes import declared_shape
from solbench.spec._workload import (
    CustomInput,
    InputDescriptor,
    RandomInput,
    SafetensorsInput,
    ScalarInput,
    Workload,
)

Scalar = bool | int | float
InputValue = torch.Tensor | Scalar

_LARGEST_TENSOR_BYTES = 2**48
"""What a process can address on common machines: a larger tensor is a slip of the pen."""


@dataclass(frozen=True, slots=True)
class InputLayout:
    """One argument of ``run`` as it lies in memory."""

    name: str
    shape: tuple[int, ...] | None
    """In stored elements (a packed dtype is half as long); ``None`` for a Python scalar."""
    dtype: str
    """Name in the files; ``solbench.spec.torch_dtype`` gives torch's."""
    source: Literal["random", "scalar", "custom", "safetensors"]
    value: Scalar | None = None
    """The workload's scalar; ``None`` where it is only known once made."""

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor; 0 for a scalar."""
        if self.shape is None:
            return 0
        count = 1
        for size in self.shape:
            count *= size
        return count * dtype_of(self.dtype).bytes_per_element


def input_layout(problem: Problem, workload: Workload) -> tuple[InputLayout, ...]:
    """Every input in declared order, without making any.

    ``AxisError`` if an axis has no value, ``SpecError`` for sizes that no tensor can have.
    """
    values = problem.axis_values(workload)
    layouts = []
    for name, tensor in problem.definition.inputs.items():
        descriptor = descriptor_of(workload, name)
        shape = declared_shape(tensor, values)
        value = None
        if isinstance(descriptor, ScalarInput):
            shape, value = None, descriptor.value
        elif isinstance(descriptor, RandomInput) and shape is not None:
            shape = _stored_shape(name, tensor, shape)
        layout = InputLayout(name, shape, tensor.dtype, descriptor.type, value)
        if layout.nbytes > _LARGEST_TENSOR_BYTES:
            raise SpecError(
                f"a tensor of shape {list(shape or ())} has {layout.nbytes} bytes",
                key=f"inputs.{name}",
                remedy=f"Look at the axes of workload {workload.uuid}.",
            )
        layouts.append(layout)
    return tuple(layouts)


def descriptor_of(workload: Workload, name: str) -> InputDescriptor:
    """The workload's descriptor; an input that is not listed is random."""
    return workload.inputs.get(name) or RandomInput(type="random")


def _stored_shape(name: str, tensor: TensorSpec, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A random packed tensor is drawn at its declared shape and packed along the last axis."""
    per_element = dtype_of(tensor.dtype).values_per_element
    if per_element == 1:
        return shape
    if not shape or shape[-1] % per_element:
        raise SpecError(
            f"a random {tensor.dtype} tensor needs an even last size, not {list(shape)}",
            key=f"inputs.{name}",
        )
    return (*shape[:-1], shape[-1] // per_element)


def make_inputs(
    problem: Problem,
    workload: Workload,
    seed: int | str | bytes,
    device: torch.device | str = "cpu",
) -> dict[str, InputValue]:
    """Values of all inputs, in declared order, on ``device``.

    The same seed gives the same values on the same kind of device. Random inputs follow the official
    distributions; a random Python scalar belongs to the workload and does not change with the seed.
    Custom inputs come from the definition's entrypoint, which runs with the global random generators
    seeded; their state is restored afterwards.

    Raises ``SpecError`` for files that do not fit, ``ReferenceFailed`` if the entrypoint fails.
    """
    place = torch.device(device)
    custom = _custom_inputs(problem, workload, seed, place)
    return {
        layout.name: _value(problem, workload, layout, custom, seed, place)
        for layout in input_layout(problem, workload)
    }


def _value(
    problem: Problem,
    workload: Workload,
    layout: InputLayout,
    custom: Mapping[str, Any],
    seed: int | str | bytes,
    device: torch.device,
) -> InputValue:
    match descriptor_of(workload, layout.name):
        case ScalarInput(value=value):
            return value
        case CustomInput():
            return _checked_custom(problem, layout, custom, device)
        case SafetensorsInput() as descriptor:
            return load_safetensors(
                problem, layout.name, layout.shape, layout.dtype, descriptor
            ).to(device)
        case RandomInput():
            return _random(problem, workload, layout, seed, device)


def _random(
    problem: Problem,
    workload: Workload,
    layout: InputLayout,
    seed: int | str | bytes,
    device: torch.device,
) -> InputValue:
    declared = problem.input_shape(workload, layout.name)
    if declared is None:
        return _random_scalar(workload, layout)
    generator = torch.Generator(device=device)
    generator.manual_seed(derived_seed(seed, workload.uuid, layout.name))
    spec = problem.definition.inputs[layout.name]
    draw = Draw(
        name=layout.name,
        shape=declared,
        dtype=torch_dtype(layout.dtype),
        generator=generator,
        description=spec.description or "",
    )
    tensor = draw_official(draw)
    if layout.name == "probs" and problem.definition.op_type == "sampling":
        return tensor.softmax(dim=-1)
    return tensor


def _random_scalar(workload: Workload, layout: InputLayout) -> Scalar:
    """The same for every seed and device: a worker is told a workload's scalars once, and a bound
    may depend on them."""
    generator = torch.Generator()
    generator.manual_seed(derived_seed("scalar", workload.uuid, layout.name))
    scalar: Scalar = draw_plain(Draw(layout.name, (), torch_dtype(layout.dtype), generator)).item()
    return scalar


def derived_seed(seed: int | str | bytes, *parts: str) -> int:
    """A 63-bit seed that differs for every combination of ``seed`` and ``parts``."""
    digest = hashlib.sha256(seed if isinstance(seed, bytes) else str(seed).encode())
    for part in parts:
        digest.update(b"\0" + part.encode())
    return int.from_bytes(digest.digest()[:8], "big") >> 1


def _custom_inputs(
    problem: Problem, workload: Workload, seed: int | str | bytes, device: torch.device
) -> Mapping[str, Any]:
    if not any(isinstance(item, CustomInput) for item in workload.inputs.values()):
        return {}
    entrypoint = load_entrypoint(problem)
    if entrypoint is None:
        raise SpecError(
            f"workload {workload.uuid} has custom inputs, but {problem.name} names no entrypoint",
            key="custom_inputs_entrypoint",
            remedy="Name a function of the reference there.",
        )
    name = f"the entrypoint '{problem.definition.custom_inputs_entrypoint}' of {problem.name}"
    with _seeded(derived_seed(seed, workload.uuid), device):
        try:
            with contained():
                made = entrypoint(axes_and_scalars(problem, workload), device)
        except (Exception, SystemExit) as error:
            line = line_in(error, reference_file(problem))
            raise ReferenceFailed(f"{name} failed: {describe(error)}{line}") from error
    if not isinstance(made, Mapping):
        raise ReferenceFailed(
            f"{name} returned {type(made).__name__}, not a dict of inputs by name"
        )
    return made


def axes_and_scalars(problem: Problem, workload: Workload) -> dict[str, Scalar]:
    """What an entrypoint is called with: all axes, ``expr`` ones too, and the workload's scalars."""
    values: dict[str, Scalar] = dict(problem.axis_values(workload))
    for name, descriptor in workload.inputs.items():
        if isinstance(descriptor, ScalarInput):
            values[name] = descriptor.value
    return values


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's, Python's and numpy's global generators; restore them at the end."""
    import numpy

    devices = [] if device.type == "cpu" else [device]
    python_state, numpy_state = random.getstate(), numpy.random.get_state()
    with torch.random.fork_rng(devices=devices, device_type=_forked_type(device)):
        torch.manual_seed(seed)
        random.seed(seed)
        numpy.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(python_state)
            numpy.random.set_state(numpy_state)


def _forked_type(device: torch.device) -> str:
    # fork_rng always saves the CPU's state; "cuda" with no devices saves nothing else.
    return "cuda" if device.type == "cpu" else device.type


def _checked_custom(
    problem: Problem, layout: InputLayout, made: Mapping[str, Any], device: torch.device
) -> InputValue:
    where = f"the entrypoint of {problem.name}: input '{layout.name}'"
    if layout.name not in made:
        raise ReferenceFailed(f"{where} is missing; it returned {', '.join(map(str, made))}")
    value = made[layout.name]
    dtype = torch_dtype(layout.dtype)
    if layout.shape is None:
        return _scalar(value, where)
    if isinstance(value, bool | int | float) and layout.shape == ():
        return torch.tensor(value, dtype=dtype, device=device)
    if not isinstance(value, torch.Tensor):
        raise ReferenceFailed(f"{where} is {type(value).__name__}, not a tensor")
    if tuple(value.shape) != layout.shape or value.dtype != dtype:
        raise ReferenceFailed(
            f"{where} is {value.dtype} {list(value.shape)}, declared as {dtype} {list(layout.shape)}"
        )
    return value.to(device)


def _scalar(value: Any, where: str) -> Scalar:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    if not isinstance(value, bool | int | float):
        raise ReferenceFailed(f"{where} is {type(value).__name__}, declared as a scalar")
    return value
