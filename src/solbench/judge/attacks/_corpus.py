"""Loading a folder of cases: one Python file each, shared problems in files that begin with ``_``."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from solbench.errors import InputError
from solbench.judge.attacks._case import AttackCase, HonestCase

CaseType = TypeVar("CaseType")
OwnType = TypeVar("OwnType", AttackCase, HonestCase)


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


def runnable(
    cases: Mapping[str, OwnType], device: str
) -> tuple[dict[str, OwnType], dict[str, str]]:
    """The cases that can be run on this device, and why each other one cannot: name → reason."""
    reasons = {name: _obstacle(case, device) for name, case in cases.items()}
    chosen = {name: case for name, case in cases.items() if not reasons[name]}
    return chosen, {name: reason for name, reason in reasons.items() if reason}


def _obstacle(case: AttackCase | HonestCase, device: str) -> str:
    if case.device != device.partition(":")[0]:
        return f"for device {case.device}"
    if case.needs and not (_is_program(case.needs) or importlib.util.find_spec(case.needs)):
        return f"needs {case.needs}"
    return ""


def _is_program(name: str) -> bool:
    return shutil.which(name) is not None or Path("/usr/local/cuda/bin", name).exists()
