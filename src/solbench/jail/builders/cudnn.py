"""CUDA C++ that calls cuDNN."""

from __future__ import annotations

from pathlib import Path

from solbench.errors import BuildError
from solbench.jail.builders import cuda_cpp
from solbench.jail.builders._binding import Binding
from solbench.jail.builders._packages import headers, nvidia_folders, shared_library
from solbench.jail.protocol import Artifact
from solbench.spec import Solution

_SYSTEM = (Path("/usr/include"), Path("/usr/include/x86_64-linux-gnu"))


def build(solution: Solution, device: str) -> Artifact:
    return cuda_cpp.build(solution, device, needs=_library())


def _library() -> Binding:
    toolkit = Path(cuda_cpp.find_nvcc()).parents[1]
    include = headers(
        "CUDNN_PATH",
        (*nvidia_folders("cudnn", "include"), *_SYSTEM, toolkit / "include"),
        "cudnn.h",
    )
    if include is None:
        raise BuildError(
            "no cudnn.h was found: pip install nvidia-cudnn-cu13, or name its folder in CUDNN_PATH",
            "",
        )
    beside = (include.parent / "lib", include.parent / "lib64")
    system = tuple(Path("/usr/lib").glob("*-linux-gnu"))
    library = shared_library("cudnn", (*nvidia_folders("cudnn", "lib"), *beside, *system))
    return Binding("c", includes=(include,), libraries=(library,) if library else ())
