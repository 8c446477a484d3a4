"""The small problems of the attack corpus: look-alikes are judged on the same."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

_PACKAGE = "solbench_attack_problems"


def load_shared(name: str) -> ModuleType:
    """A module of shared problems that lies beside the attacks."""
    if _PACKAGE not in sys.modules:
        package = ModuleType(_PACKAGE)
        package.__path__ = [str(Path(__file__).parents[2] / "attacks" / "cases")]
        sys.modules[_PACKAGE] = package
    return importlib.import_module(f"{_PACKAGE}.{name}")


_shared = load_shared("_problems")

SCALE, SCALES, HEAVY, SOFTMAX, PROJECTION = (
    getattr(_shared, name) for name in ("SCALE", "SCALES", "HEAVY", "SOFTMAX", "PROJECTION")
)
