"""Solution: the submitted program and how to build and call it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from solbench.spec._definition import _Exchanged

Language = Literal[
    "pytorch", "triton", "cute_dsl", "cutile", "cudnn_frontend",
    "cuda_cpp", "cutlass", "cudnn", "cublas",
    "cpp", "numba",
]  # fmt: skip
Binding = Literal["torch", "tvm_ffi", "c"]


class SourceFile(_Exchanged):
    path: str
    """Relative, without ``..``; unique within the solution."""
    content: str


class CompileOptions(_Exchanged):
    """Absent from a solution: no default flags at all. ``{}``: these defaults."""

    cflags: tuple[str, ...] = ()
    cuda_cflags: tuple[str, ...] = ("-O3", "--use_fast_math")
    ld_flags: tuple[str, ...] = ("-lcuda",)


class SolutionSpec(_Exchanged):
    languages: tuple[Language, ...] = Field(min_length=1)
    target_hardware: tuple[str, ...] = Field(min_length=1)
    entry_point: str
    """``file::function``."""
    destination_passing_style: bool = True
    """Inputs then outputs are passed and nothing is returned."""
    binding: Binding | None = None
    dependencies: tuple[str, ...] = ()
    compile_options: CompileOptions | None = None


class Solution(_Exchanged):
    name: str = Field(min_length=1)
    definition: str
    author: str
    spec: SolutionSpec
    sources: tuple[SourceFile, ...] = Field(min_length=1)
    description: str | None = None
