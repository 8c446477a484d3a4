"""CUDA C++ that calls cuBLAS or cuBLASLt."""

from __future__ import annotations

from pathlib import Path

from solbench.errors import BuildError
from solbench.jail.builders import cuda_cpp
from solbench.jail.builders._binding import Binding
from solbench.jail.builders._packages import headers, nvidia_folders, shared_library
from solbench.jail.protocol import Artifact
from solbench.spec import Solution


def build(solution: Solution, device: str) -> Artifact:
    return cuda_cpp.build(solution, device, needs=_library())


def _library() -> Binding:
    toolkit = Path(cuda_cpp.find_nvcc()).parents[1]
    # Torch has loaded its own copy by then: the same one is linked where there is one.
    folders = (*nvidia_folders("cublas", "lib"), toolkit / "lib64", toolkit / "lib64" / "stubs")
    found = [shared_library(name, folders) for name in ("cublas", "cublasLt")]
    include = headers(
        "CUBLAS_INCLUDE_PATH",
        (toolkit / "include", *nvidia_folders("cublas", "include")),
        "cublas_v2.h",
    )
    if include is None:
        raise BuildError(
            "no cublas_v2.h was found: install the CUDA toolkit's cuBLAS headers, or name their folder in "
            "CUBLAS_INCLUDE_PATH",
            "",
        )
    return Binding("c", includes=(include,), libraries=tuple(each for each in found if each))
