"""Call an example's reference and solutions directly: no judge, no jail."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from solbench.jail.builders._header import HEADER, HEADER_NAME
from solbench.spec import (
    Problem,
    Solution,
    Workload,
    input_layout,
    load_problem,
    load_reference,
    load_solution,
    make_inputs,
    normalise_outputs,
    torch_dtype,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/definition.json"))
TENSOR_DTYPES = {torch.float32: (2, 32), torch.bfloat16: (4, 16), torch.int32: (0, 32)}
"""Type code and bits of the tensor layout: 0 is int, 2 float, 4 bfloat."""

Outputs = dict[str, torch.Tensor]


def problem(name: str) -> Problem:
    return load_problem(EXAMPLES / name)


def solution(name: str, variant: str) -> Solution:
    return load_solution(EXAMPLES / name / f"solution_{variant}.json")


def variants(*languages: str) -> list[tuple[str, str]]:
    """(example, variant) of every packed solution in one of the languages, native ones with the C entry."""
    found = []
    for path in sorted(EXAMPLES.glob("*/solution_*.json")):
        variant = path.stem.removeprefix("solution_")
        spec = load_solution(path).spec
        if set(languages) & set(spec.languages) and spec.binding in (None, "c"):
            found.append((path.parent.name, variant))
    return found


def expected(task: Problem, workload: Workload, inputs: dict[str, Any]) -> Outputs:
    return normalise_outputs(task, load_reference(task)(*inputs.values()), workload)


def empty_outputs(task: Problem, workload: Workload) -> Outputs:
    """Destination tensors filled with ones, so that an output that is never written shows."""
    return {
        name: torch.ones(task.output_shape(workload, name), dtype=torch_dtype(spec.dtype))
        for name, spec in task.definition.outputs.items()
    }


def run_python(
    task: Problem, workload: Workload, packed: Solution, inputs: dict[str, Any]
) -> Outputs:
    """Execute the entry file and call its function."""
    namespace: dict[str, Any] = {"__name__": packed.name}
    exec(compile(packed.source(packed.spec.entry_file), packed.name, "exec"), namespace)
    call: Callable[..., Any] = namespace[packed.spec.entry_function]
    if not packed.spec.destination_passing_style:
        return normalise_outputs(task, call(*inputs.values()), workload)
    outputs = empty_outputs(task, workload)
    assert call(*inputs.values(), *outputs.values()) is None
    return outputs


class _Tensor(ctypes.Structure):
    """Struct layout of the DLPack interface."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def write_sources(packed: Solution, folder: Path) -> None:
    """The sources and the header that builds offer them."""
    (folder / HEADER_NAME).write_text(HEADER)
    for source in packed.sources:
        (folder / source.path).write_text(source.content)


def compile_cpp(packed: Solution, folder: Path) -> ctypes.CDLL:
    compiler = shutil.which("g++")
    assert compiler is not None
    write_sources(packed, folder)
    library = folder / "solution.so"
    flags = ["-O3", "-march=native", "-std=c++20", "-Wall", "-Werror", "-shared", "-fPIC"]
    entry = str(folder / packed.spec.entry_file)
    subprocess.run([compiler, *flags, entry, "-o", str(library)], check=True, timeout=60)
    return ctypes.CDLL(str(library))


def run_native(
    library: ctypes.CDLL, task: Problem, workload: Workload, inputs: dict[str, Any]
) -> Outputs:
    outputs = empty_outputs(task, workload)
    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor)]
    scalars = [float(v) for v in inputs.values() if not isinstance(v, torch.Tensor)]
    code = library.run(
        _pointers(tensors),
        _pointers(list(outputs.values())),
        (ctypes.c_double * max(len(scalars), 1))(*scalars),
        None,
    )
    assert code == 0
    return outputs


def _pointers(tensors: Sequence[torch.Tensor]) -> Any:
    array = (ctypes.POINTER(_Tensor) * len(tensors))()
    for index, tensor in enumerate(tensors):
        array[index] = ctypes.pointer(_described(tensor))
    return array


def _described(tensor: torch.Tensor) -> _Tensor:
    code, bits = TENSOR_DTYPES[tensor.dtype]
    sizes = ctypes.c_int64 * tensor.dim()
    return _Tensor(
        data=tensor.data_ptr(),
        device_type=1,
        device_id=0,
        ndim=tensor.dim(),
        type_code=code,
        type_bits=bits,
        type_lanes=1,
        shape=sizes(*tensor.shape),
        strides=sizes(*tensor.stride()),
        byte_offset=0,
    )


def declared_bytes(task: Problem, workload: Workload) -> int:
    outputs = empty_outputs(task, workload).values()
    inputs = sum(layout.nbytes for layout in input_layout(task, workload))
    return inputs + sum(tensor.numel() * tensor.element_size() for tensor in outputs)


__all__ = [
    "EXAMPLES",
    "NAMES",
    "compile_cpp",
    "declared_bytes",
    "expected",
    "make_inputs",
    "problem",
    "run_native",
    "run_python",
    "solution",
    "variants",
    "write_sources",
]
