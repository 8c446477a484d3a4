"""Loading a folder of cases: one Python file each, shared problems in files that begin with ``_``."""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from solbench.errors import InputError

CaseType = TypeVar("CaseType")


def load_corpus(folder: Path, kind: type[CaseType]) -> Mapping[str, CaseType]:
    """Name → the ``CASE`` of every file in ``folder``, in order. The files are run: they are ours.

    Raises ``InputError`` for a folder without cases and for a file without a ``CASE``.
    """
    paths = sorted(path for path in folder.glob("*.py") if not path.name.startswith("_"))
    if not paths:
        raise InputError(
            "there are no cases here",
            file=folder,
            remedy="Give the folder of case files, such as tests/attacks/cases of a checkout.",
        )
    package = _package(folder)
    return {path.stem: _case(package, path, kind) for path in paths}


def _package(folder: Path) -> str:
    """A package over the folder, so that cases can import what they share."""
    place = str(folder.resolve())
    name = "solbench_cases_" + hashlib.sha256(place.encode()).hexdigest()[:12]
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [place]
        sys.modules[name] = package
    return name


def _case(package: str, path: Path, kind: type[CaseType]) -> CaseType:
    case = getattr(importlib.import_module(f"{package}.{path.stem}"), "CASE", None)
    if not isinstance(case, kind):
        raise InputError(f"the file defines no CASE of type {kind.__name__}", file=path)
    return case
