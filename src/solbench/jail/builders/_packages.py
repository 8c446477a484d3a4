"""Where installed packages lie, found without importing them: a package's import may start threads or CUDA."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from pathlib import Path

from solbench.errors import BuildError


def package_folder(module: str, distribution: str, needed_for: str) -> Path:
    """The folder of an importable package. Raises ``BuildError`` with the pip command if it is missing."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise BuildError(
            f"{needed_for} needs the package '{module}', which is not installed: "
            f"pip install {distribution}",
            "",
        )
    return Path(found.origin).parent


def version_of(distribution: str) -> str:
    """Name and version: part of an artifact's digest."""
    try:
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return distribution


def headers(variable: str, folders: tuple[Path, ...], file: str) -> Path | None:
    """The first folder that holds ``file``: the one that the environment names, then ``folders``."""
    named = os.environ.get(variable)
    own = (Path(named), Path(named, "include")) if named else ()
    return next(
        (folder.resolve() for folder in (*own, *folders) if (folder / file).is_file()), None
    )


def nvidia_folders(part: str, kind: str) -> tuple[Path, ...]:
    """Where torch's companion packages keep a library's files: ``nvidia/PART/KIND``, ``nvidia/cu13/KIND``."""
    found = importlib.util.find_spec("nvidia")
    roots = [Path(root) for root in found.submodule_search_locations or ()] if found else []
    return tuple(root / name / kind for root in roots for name in (part, "cu13", "cu12"))


def shared_library(name: str, folders: tuple[Path, ...]) -> Path | None:
    """``lib<name>.so``, or the one with a version behind it."""
    for folder in folders:
        matches = sorted(folder.glob(f"lib{name}.so*"))
        if matches:
            return matches[0]
    return None
