"""CUDA C++ with the CUTLASS and CuTe headers."""

from __future__ import annotations

from solbench.errors import BuildError
from solbench.jail.builders import cuda_cpp
from solbench.jail.builders._binding import Binding
from solbench.jail.builders._packages import headers, package_folder, version_of
from solbench.jail.protocol import Artifact
from solbench.spec import Solution

DISTRIBUTION = "nvidia-cutlass"


def build(solution: Solution, device: str) -> Artifact:
    return cuda_cpp.build(solution, device, needs=_headers())


def _headers() -> Binding:
    found = headers("CUTLASS_PATH", (), "cutlass/cutlass.h")
    if found is not None:
        return Binding("c", includes=(found,), version=f"CUTLASS in {found}")
    folder = package_folder("cutlass_library", DISTRIBUTION, "the language 'cutlass'")
    include = folder / "source" / "include"
    if not (include / "cutlass" / "cutlass.h").is_file():
        raise BuildError(f"no cutlass/cutlass.h in {include}; set CUTLASS_PATH to its folder", "")
    utilities = folder / "source" / "tools" / "util" / "include"
    return Binding("c", includes=(include, utilities), version=version_of(DISTRIBUTION))
