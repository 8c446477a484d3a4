"""Finding the entry of an artifact inside the worker."""

from __future__ import annotations

import ctypes
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from solbench.jail.protocol import Artifact, Status

_LIBRARIES = frozenset({
    "torch", "triton", "numpy", "numba", "cuda", "cutlass", "cupy", "cudnn", "tvm_ffi", "tilelang",
    "solbench", "cupti", "sympy",
})  # fmt: skip
"""Names that always mean the installed library, whatever a solution calls its files."""


class Rejected(Exception):
    """The submission did not do its part; carries the status that the judge will read."""

    def __init__(self, status: Status, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Entry:
    """What to call. ``setup`` is the solution's optional hook for planning and compilation.

    With the plain C entry it has the entry's own signature, else it takes ``_call.describe``'s dictionary.
    """

    function: Callable[..., Any]
    setup: Callable[..., Any] | None = None


class _SolutionFinder:
    """Lets a solution import its own files by name, without letting them stand in for libraries."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if path is not None or _is_protected(name):
            return None
        return importlib.machinery.PathFinder.find_spec(name, self._folders, target)


def _is_protected(name: str) -> bool:
    return name in sys.stdlib_module_names or name in _LIBRARIES


def load(artifact: Artifact) -> Entry:
    """Import or open the artifact. Raises ``Rejected``, or whatever the submission raises."""
    return _LOADERS[artifact.kind](artifact)


def _load_shared(artifact: Artifact) -> Entry:
    try:
        library = ctypes.CDLL(str(Path(artifact.folder, artifact.entry_file)))
        return Entry(getattr(library, artifact.entry_function), getattr(library, "setup", None))
    except AttributeError as error:
        raise Rejected(
            Status.ENTRY_MISSING,
            f"the shared object does not export '{artifact.entry_function}' (C++: extern \"C\")",
        ) from error
    except OSError as error:
        raise Rejected(
            Status.LOAD_FAILED, f"the shared object cannot be opened: {error}"
        ) from error


def _load_tvm_ffi(artifact: Artifact) -> Entry:
    import tvm_ffi

    module = tvm_ffi.load_module(str(Path(artifact.folder, artifact.entry_file)))
    try:
        function = module[artifact.entry_function]
    except AttributeError as error:
        raise Rejected(
            Status.ENTRY_MISSING,
            f"the shared object exports no function '{artifact.entry_function}' "
            "(TVM_FFI_DLL_EXPORT_TYPED_FUNC)",
        ) from error
    return Entry(function, _optional(module, "setup"))


def _optional(module: Any, name: str) -> Callable[..., Any] | None:
    """A function of a TVM FFI module, which answers with an error where there is none."""
    try:
        found: Callable[..., Any] = module[name]
    except AttributeError:
        return None
    return found


def _load_extension(artifact: Artifact) -> Entry:
    """A module that its own file names ``solution``."""
    file = str(Path(artifact.folder, artifact.entry_file))
    loader = importlib.machinery.ExtensionFileLoader("solution", file)
    spec = importlib.util.spec_from_file_location("solution", file, loader=loader)
    if spec is None:
        raise Rejected(Status.LOAD_FAILED, f"{artifact.entry_file} is no extension module")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    function = getattr(module, artifact.entry_function, None)
    if not callable(function):
        raise Rejected(
            Status.ENTRY_MISSING,
            f"the extension module defines no '{artifact.entry_function}' (m.def in PYBIND11_MODULE)",
        )
    return Entry(function, _hook(module))


def _load_python(artifact: Artifact) -> Entry:
    module = _import(Path(artifact.folder), Path(artifact.entry_file))
    function = getattr(module, artifact.entry_function, None)
    if not callable(function):
        raise Rejected(
            Status.ENTRY_MISSING, f"{artifact.entry_file} defines no '{artifact.entry_function}'"
        )
    return Entry(function, _hook(module))


def _hook(module: ModuleType) -> Callable[..., Any] | None:
    setup = getattr(module, "setup", None)
    return setup if callable(setup) else None


def _import(folder: Path, file: Path) -> ModuleType:
    parent = folder / file.parent
    sys.meta_path.insert(0, _SolutionFinder([str(folder), str(parent)]))
    parts = file.with_suffix("").parts
    importable = all(part.isidentifier() for part in parts)
    if importable and not (_is_protected(parts[0]) or parts[0] in sys.modules):
        return importlib.import_module(".".join(parts))
    name = "_".join(("solution", *parts))
    spec = importlib.util.spec_from_file_location(name, folder / file)
    if spec is None or spec.loader is None:
        raise Rejected(Status.LOAD_FAILED, f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_LOADERS: dict[str, Callable[[Artifact], Entry]] = {
    "python": _load_python,
    "c": _load_shared,
    "tvm_ffi": _load_tvm_ffi,
    "extension": _load_extension,
}
