"""Small files in the public form, and ways to write them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PUBLIC_FORM = Path(__file__).parent.parent / "data" / "public_form"

DEFINITION: dict[str, Any] = {
    "name": "scale_rows",
    "axes": {
        "rows": {"type": "var"},
        "columns": {"type": "const", "value": 4},
        "double": {"type": "expr", "expression": "2 * columns"},
    },
    "inputs": {
        "x": {"shape": ["rows", "columns"], "dtype": "float32"},
        "factor": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "columns"], "dtype": "float32"}},
    "reference": "def run(x, factor):\n    return x * factor\n",
}
WORKLOAD: dict[str, Any] = {
    "uuid": "w0",
    "axes": {"rows": 3},
    "inputs": {"x": {"type": "random"}, "factor": {"type": "scalar", "value": 2.5}},
}
SOLUTION: dict[str, Any] = {
    "name": "twice",
    "definition": "scale_rows",
    "author": "tests",
    "spec": {
        "languages": ["pytorch"],
        "target_hardware": ["LOCAL"],
        "entry_point": "main.py::run",
        "destination_passing_style": False,
    },
    "sources": [{"path": "main.py", "content": "def run(x, factor):\n    return x * factor\n"}],
}
TRACE: dict[str, Any] = {
    "definition": "scale_rows",
    "solution": "twice",
    "workload": WORKLOAD,
    "evaluation": {
        "status": "PASSED",
        "log": "",
        "correctness": {
            "max_relative_error": 0.0,
            "max_absolute_error": 0.0,
            "has_nan": False,
            "has_inf": False,
        },
        "performance": {
            "latency_ms": 1.5,
            "reference_latency_ms": 3.0,
            "speedup_factor": 2.0,
        },
        "environment": {"hardware": "cpu", "libs": {"torch": "2.13.0"}},
        "timestamp": "2026-01-02T03:04:05Z",
    },
}


@pytest.fixture
def definition() -> dict[str, Any]:
    return copy.deepcopy(DEFINITION)


@pytest.fixture
def workload() -> dict[str, Any]:
    return copy.deepcopy(WORKLOAD)


@pytest.fixture
def solution() -> dict[str, Any]:
    return copy.deepcopy(SOLUTION)


@pytest.fixture
def trace() -> dict[str, Any]:
    return copy.deepcopy(TRACE)


@pytest.fixture
def public_form() -> Path:
    return PUBLIC_FORM


@pytest.fixture
def write_problem(tmp_path: Path) -> Callable[..., Path]:
    """Write a problem folder; texts are written as they are, other values as JSON."""

    def write(definition: Any, *workloads: Any) -> Path:
        folder = tmp_path / "problem"
        folder.mkdir(exist_ok=True)
        text = definition if isinstance(definition, str) else json.dumps(definition, indent=2)
        (folder / "definition.json").write_text(text)
        lines = [line if isinstance(line, str) else json.dumps(line) for line in workloads]
        (folder / "workload.jsonl").write_text("".join(f"{line}\n" for line in lines))
        return folder

    return write
