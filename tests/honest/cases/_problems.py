"""The small problems of the attack corpus: look-alikes are judged on the same."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_FILE = Path(__file__).parents[2] / "attacks" / "cases" / "_problems.py"
_spec = importlib.util.spec_from_file_location("solbench_attack_problems", _FILE)
assert _spec is not None and _spec.loader is not None
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)

SCALE, SCALES, HEAVY, SOFTMAX = (
    getattr(_shared, name) for name in ("SCALE", "SCALES", "HEAVY", "SOFTMAX")
)
