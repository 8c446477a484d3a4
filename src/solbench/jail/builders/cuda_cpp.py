"""CUDA C++ built by nvcc; CUTLASS, cuDNN and cuBLAS solutions go the same way with more to include and link."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from solbench.errors import BuildError
from solbench.jail import cuda_driver
from solbench.jail.builders import _compile, binding_c, binding_torch, binding_tvm_ffi
from solbench.jail.builders._binding import Binding, join
from solbench.jail.builders._contract import source_texts
from solbench.jail.builders._flags import checked
from solbench.jail.builders.cpp import compilable, make_artifact
from solbench.jail.cuda_driver import CudaDriverError
from solbench.jail.protocol import Artifact
from solbench.spec import Solution

_SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c++")
_ARCHITECTURES = {"b200": "100a", "gb200": "100a", "h100": "90a", "h200": "90a", "a100": "80"}
_FALLBACK = "90a"
_NAMES_ARCHITECTURE = (
    "-arch",
    "--arch",
    "--gpu-architecture",
    "-gencode",
    "--gencode",
    "--generate-code",
)


_BINDINGS = {"c": binding_c, "tvm_ffi": binding_tvm_ffi, "torch": binding_torch}
_NOTHING = Binding("c")


def build(solution: Solution, device: str, *, needs: Binding = _NOTHING) -> Artifact:
    """One shared object of all the solution's CUDA and C++ files.

    The public form's default binding is ``torch``. ``needs``: what the language adds to include and link.
    """
    binding = join(_BINDINGS[solution.spec.binding or "torch"].binding(), needs)
    compiler = find_nvcc()
    texts = source_texts(solution)
    command = (
        compiler,
        *_flags(solution, device),
        *binding.compiler_flags(),
        *_standard(solution, binding),
        *("-shared", "-Xcompiler", "-fPIC", "-I.", "-I", "{include}", "-o", "{output}"),
        *compilable(texts, _SUFFIXES),
        *_link_flags(solution, compiler),
        *binding.link_flags(),
    )
    toolkit = str(Path(compiler).parents[1])
    return make_artifact(
        solution,
        texts,
        _compile.Compilation(command, texts, toolchain=(toolkit, *binding.toolchain())),
        kind=binding.kind,
        toolchain=f"{_compile.version(compiler)}\n{binding.version}",
    )


def _standard(solution: Solution, binding: Binding) -> tuple[str, ...]:
    """The headers of torch, TVM FFI and CUTLASS need C++17; a solution's own choice counts."""
    options = solution.spec.compile_options
    named = (*options.cflags, *options.cuda_cflags) if options else ()
    if not binding.includes or any(flag.lstrip("-").startswith("std=") for flag in named):
        return ()
    return ("-std=c++17",)


def find_nvcc() -> str:
    """The real program: wrappers on the search path may lie where a toolkit does not."""
    named = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    inside = Path(named, "bin", "nvcc")
    found = str(inside) if inside.exists() else shutil.which("nvcc")
    if found is None:
        raise BuildError("nvcc was not found; install the CUDA toolkit or set CUDA_HOME", "")
    return str(Path(found).resolve())


def _flags(solution: Solution, device: str) -> tuple[str, ...]:
    options = solution.spec.compile_options
    if options is None:
        return _architecture(solution, device)
    host = checked(options.cflags, "cflags")
    flags = checked(options.cuda_cflags, "cuda_cflags")
    passed = tuple(word for flag in host for word in ("-Xcompiler", flag))
    if any(flag.startswith(_NAMES_ARCHITECTURE) for flag in flags):
        return (*flags, *passed)
    return (*flags, *passed, *_architecture(solution, device))


def _architecture(solution: Solution, device: str) -> tuple[str, str]:
    number = next(
        (
            _ARCHITECTURES[name.lower()]
            for name in solution.spec.target_hardware
            if name.lower() in _ARCHITECTURES
        ),
        None,
    )
    if number is None:
        number = _local_architecture(device)
    return "-gencode", f"arch=compute_{number},code=sm_{number}"


def _local_architecture(device: str) -> str:
    """Of the device at hand; of the most common one where there is none. Torch would know too, but takes a
    second to import."""
    kind, _, number = device.partition(":")
    if kind != "cuda":
        return _FALLBACK
    try:
        major, minor = cuda_driver.compute_capability(int(number or 0))
    except CudaDriverError:
        return _FALLBACK
    return f"{major}{minor}{'a' if major >= 9 else ''}"


def _link_flags(solution: Solution, compiler: str) -> tuple[str, ...]:
    options = solution.spec.compile_options
    named = checked(options.ld_flags, "ld_flags") if options else ()
    return tuple(
        word for flag in named for word in (_driver(compiler) if flag == "-lcuda" else (flag,))
    )


def _driver(compiler: str) -> tuple[str, ...]:
    """Link the driver's library where it is, its stub elsewhere, nothing where neither is.

    A shared object may leave symbols open, so code that does not use the driver API still links.
    """
    stubs = Path(compiler).parents[1] / "lib64" / "stubs"
    if (stubs / "libcuda.so").exists():
        return (f"-L{stubs}", "-lcuda")
    for folder in _library_folders():
        if (folder / "libcuda.so.1").exists():
            return (f"-L{folder}", "-l:libcuda.so.1")
    return ()


def _library_folders() -> tuple[Path, ...]:
    named = ("/usr/lib64", "/usr/local/nvidia/lib64", "/usr/local/cuda/compat")
    return (*sorted(Path("/usr/lib").glob("*-linux-gnu")), *map(Path, named))
