"""Kernels whose duration is well defined: one operation of torch each, from next to nothing to milliseconds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kernel:
    """An operation ``y = f(x)`` on one shape: ``call`` is the reference, and ``body``, with ``out=y``, the
    solution."""

    name: str
    shape: tuple[int, ...]
    call: str
    dtype: str = "float32"
    reduces: bool = False
    """The last axis is gone in ``y``."""

    @property
    def body(self) -> str:
        return self.call.replace(")", ", out=y)")

    def operation(self) -> Callable[[Any, Any], Any]:
        """``run(x, y)``"""
        scope: dict[str, Any] = {}
        exec(f"import torch\n\n\ndef run(x, y):\n    {self.body}\n", scope)
        run: Callable[[Any, Any], Any] = scope["run"]
        return run

    def tensors(self, device: str) -> tuple[Any, Any]:
        import torch

        dtype = getattr(torch, self.dtype)
        x = torch.randn(self.shape, device=device).to(dtype)
        return x, torch.empty_like(x[..., 0] if self.reduces else x)

    @property
    def written_bytes(self) -> int:
        """Size of ``y``."""
        return self._bytes(self.shape[:-1] if self.reduces else self.shape)

    @property
    def moved_bytes(self) -> int:
        """Sizes of ``x`` and ``y``."""
        return self._bytes(self.shape) + self.written_bytes

    def _bytes(self, shape: tuple[int, ...]) -> int:
        return math.prod(shape) * (2 if self.dtype == "bfloat16" else 4)


def _add(mebibytes: int) -> Kernel:
    return Kernel(f"add {mebibytes} MiB", (mebibytes << 18,), "torch.add(x, 1)")


def _largest(mebibytes: int) -> Kernel:
    """Reads much and writes next to nothing."""
    return Kernel(
        f"amax {mebibytes} MiB", (mebibytes << 8, 1024), "torch.amax(x, -1)", reduces=True
    )


EMPTY = Kernel("add 1 KiB", (256,), "torch.add(x, 1)")
"""What a kernel that does nothing to speak of shows: each tool's own offset."""

KERNELS = (
    EMPTY,
    _add(2),
    _add(8),
    _largest(8),
    Kernel("softmax 1024 x 4096", (1024, 4096), "torch.softmax(x, -1)"),
    Kernel("matmul 1024 bf16", (1024, 1024), "torch.mm(x, x)", "bfloat16"),
    Kernel("matmul 2048 bf16", (2048, 2048), "torch.mm(x, x)", "bfloat16"),
    _add(32),
    _largest(32),
    Kernel("sigmoid 96 MiB", (96 << 18,), "torch.sigmoid(x)"),
    Kernel("matmul 4096 bf16", (4096, 4096), "torch.mm(x, x)", "bfloat16"),
    _add(512),
    _largest(512),
    Kernel("matmul 4096 fp32", (4096, 4096), "torch.mm(x, x)"),
)


def problem_of(kernel: Kernel) -> Any:
    """The kernel as a problem with one workload."""
    from solbench.spec import Definition, Workload, make_problem

    axes = [f"n{number}" for number in range(len(kernel.shape))]
    tensor = {"shape": axes, "dtype": kernel.dtype}
    output = {**tensor, "shape": axes[:-1]} if kernel.reduces else tensor
    definition = Definition.model_validate(
        {
            "name": kernel.name.replace(" ", "_"),
            "axes": {axis: {"type": "var"} for axis in axes},
            "inputs": {"x": tensor},
            "outputs": {"y": output},
            "reference": f"import torch\n\n\ndef run(x):\n    return {kernel.call}\n",
        }
    )
    workload = Workload.model_validate(
        {
            "uuid": kernel.name.replace(" ", "-"),
            "axes": dict(zip(axes, kernel.shape, strict=True)),
            "inputs": {"x": {"type": "random"}},
            "tolerance": {"max_atol": 1e-2, "max_rtol": 1e-2},
        }
    )
    return make_problem(definition, [workload])


def solution_of(kernel: Kernel) -> Any:
    """The same operation as a submission."""
    source = f"import torch\n\n\ndef run(x, y):\n    {kernel.body}\n"
    return pytorch_solution(kernel.name, kernel.name.replace(" ", "_"), source)


def pytorch_solution(name: str, definition: str, source: str) -> Any:
    """One file whose ``run`` writes into its outputs."""
    from solbench.spec import Solution, SolutionSpec, SourceFile

    return Solution(
        name=name,
        definition=definition,
        author="solbench",
        spec=SolutionSpec(
            languages=("pytorch",), target_hardware=("LOCAL",), entry_point="main.py::run"
        ),
        sources=(SourceFile(path="main.py", content=source),),
    )
