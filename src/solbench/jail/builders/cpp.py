"""C++ (and C) for CPUs: the plain C entry by default, TVM FFI and torch extensions too."""

from __future__ import annotations

import shutil
from pathlib import PurePosixPath

from solbench.errors import BuildError
from solbench.jail.builders import _cache, _compile, binding_c, binding_torch, binding_tvm_ffi
from solbench.jail.builders._binding import Kind
from solbench.jail.builders._contract import entry, source_texts
from solbench.jail.builders._flags import checked
from solbench.jail.builders._header import HEADER
from solbench.jail.protocol import Artifact
from solbench.spec import Solution

DEFAULT_FLAGS = ("-O3", "-march=native", "-std=c++20")
_SUFFIXES = (".cpp", ".cc", ".cxx", ".c++")


_BINDINGS = {"c": binding_c, "tvm_ffi": binding_tvm_ffi, "torch": binding_torch}


def build(solution: Solution, device: str) -> Artifact:
    """One shared object of all the solution's C++ files."""
    if device.startswith("cuda"):
        raise BuildError("the language 'cpp' runs on CPUs only; for a GPU use 'cuda_cpp'", "")
    binding = _BINDINGS[solution.spec.binding or "c"].binding()
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise BuildError("no C++ compiler found; install g++", "")
    texts = source_texts(solution)
    command = (
        compiler,
        *_flags(solution),
        *binding.compiler_flags(),
        *compilable(texts, _SUFFIXES),
        *_link_flags(solution),
        *binding.link_flags(),
    )
    return make_artifact(
        solution,
        texts,
        _compile.Compilation(command, texts, toolchain=binding.toolchain(), timeout_s=300),
        kind=binding.kind,
        toolchain="\n".join((_compile.version(compiler), _compile.cpu_features(), binding.version)),
    )


def _flags(solution: Solution) -> tuple[str, ...]:
    options = solution.spec.compile_options
    own = checked(options.cflags, "cflags") if options else ()
    return (*DEFAULT_FLAGS, *own, "-shared", "-fPIC", "-I.", "-I", "{include}", "-o", "{output}")


def _link_flags(solution: Solution) -> tuple[str, ...]:
    """``-lcuda`` is the official default of a key that has no meaning here."""
    options = solution.spec.compile_options
    named = checked(options.ld_flags, "ld_flags") if options else ()
    return tuple(flag for flag in named if flag != "-lcuda")


def compilable(texts: dict[str, str], suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """The sources to hand to the compiler. Raises ``BuildError`` if there are none."""
    found = tuple(path for path in texts if PurePosixPath(path).suffix in suffixes)
    if not found:
        raise BuildError(f"no source ends in {', '.join(suffixes)}", "")
    # "./" in front: a file name is never taken for a flag.
    return tuple(f"./{path}" for path in found)


def make_artifact(
    solution: Solution,
    texts: dict[str, str],
    compilation: _compile.Compilation,
    *,
    kind: Kind,
    toolchain: str,
) -> Artifact:
    """Compile, unless the cache has it."""
    _, function = entry(solution)
    name = _cache.digest(
        {
            "language": "native",
            "kind": kind,
            "sources": texts,
            "header": HEADER,
            "command": compilation.command,
            "toolchain": toolchain,
        }
    )
    folder = _cache.stored(name, lambda staging: _compile.compile_into(staging, compilation))
    return Artifact(
        folder=str(folder),
        entry_file=_compile.OUTPUT_NAME,
        entry_function=function,
        kind=kind,
        destination_passing=kind == "c" or solution.spec.destination_passing_style,
        digest=name,
    )
