"""A torch extension: ``PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)`` that defines the entry function.

Torch's headers take most of a minute to compile: keep them in a small C++ file beside the kernels.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

from solbench.jail.builders._binding import Binding
from solbench.jail.builders._packages import package_folder, version_of

MODULE_NAME = "solution"
"""Also the file name of the shared object, as Python wants it."""
_LIBRARIES = ("c10", "torch", "torch_cpu", "torch_python", "c10_cuda", "torch_cuda")


def binding() -> Binding:
    folder = package_folder("torch", "torch", 'binding "torch"')
    include = folder / "include"
    libraries = (folder / "lib" / f"lib{name}.so" for name in _LIBRARIES)
    return Binding(
        "extension",
        includes=(
            include,
            include / "torch" / "csrc" / "api" / "include",
            Path(sysconfig.get_paths()["include"]),
        ),
        defines=(f"TORCH_EXTENSION_NAME={MODULE_NAME}", "TORCH_API_INCLUDE_EXTENSION_H"),
        libraries=tuple(each for each in libraries if each.is_file()),
        version=version_of("torch"),
    )
