"""C++ (and C) for CPUs, with the plain C entry."""

from __future__ import annotations

import shutil
from pathlib import PurePosixPath

from solbench.errors import BuildError
from solbench.jail.builders import _cache, _compile
from solbench.jail.builders._contract import entry, source_texts
from solbench.jail.builders._flags import checked
from solbench.jail.protocol import Artifact
from solbench.spec import Solution

DEFAULT_FLAGS = ("-O3", "-march=native", "-std=c++20")
_SUFFIXES = (".cpp", ".cc", ".cxx", ".c++")


def build(solution: Solution, device: str) -> Artifact:
    """One shared object of all the solution's C++ files."""
    if device.startswith("cuda"):
        raise BuildError("the language 'cpp' runs on CPUs only; for a GPU use 'cuda_cpp'", "")
    if solution.spec.binding not in (None, "c"):
        raise BuildError(f"binding '{solution.spec.binding}': 'cpp' has the binding 'c' only", "")
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        raise BuildError("no C++ compiler found; install g++", "")
    texts = source_texts(solution)
    return make_artifact(
        solution,
        texts,
        _compile.Compilation(
            (compiler, *_flags(solution), *compilable(texts, _SUFFIXES), *_link_flags(solution)),
            texts,
            timeout_s=120,
        ),
        toolchain=_compile.version(compiler) + _compile.cpu_features(),
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
    toolchain: str,
) -> Artifact:
    """Compile, unless the cache has it."""
    _, function = entry(solution)
    name = _cache.digest(
        {
            "language": "native",
            "sources": texts,
            "command": compilation.command,
            "toolchain": toolchain,
        }
    )
    folder = _cache.stored(name, lambda staging: _compile.compile_into(staging, compilation))
    return Artifact(
        folder=str(folder),
        entry_file=_compile.OUTPUT_NAME,
        entry_function=function,
        kind="c",
        destination_passing=True,
        digest=name,
    )
