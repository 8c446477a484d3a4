"""Solutions of one small problem, from their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from solbench.judge.guard import Finding, review
from solbench.spec import Definition, Solution

DEFINITION: dict[str, Any] = {
    "name": "scale",
    "axes": {"n": {"type": "var"}},
    "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
    "outputs": {"y": {"shape": ["n"], "dtype": "float32"}},
    "reference": "def run(x):\n    return x * 3.0\n",
}

Reviewed = Callable[..., tuple[Finding, ...]]


def solution_of(source: str, path: str = "main.py", **more: Any) -> Solution:
    native = path.endswith((".cpp", ".cu"))
    spec = {
        "languages": ["cpp" if path.endswith(".cpp") else "cuda_cpp" if native else "pytorch"],
        "target_hardware": ["LOCAL"],
        "entry_point": f"{path}::run",
        **({"binding": "c"} if native else {}),
        **more.get("spec", {}),
    }
    files = [{"path": path, "content": source}]
    files += [{"path": name, "content": text} for name, text in more.get("files", {}).items()]
    return Solution.model_validate(
        {"name": "s", "definition": "scale", "author": "a", "spec": spec, "sources": files}
    )


@pytest.fixture(scope="session")
def reviewed() -> Reviewed:
    def look(source: str, path: str = "main.py", **more: Any) -> tuple[Finding, ...]:
        definition = Definition.model_validate({**DEFINITION, **more.get("definition", {})})
        return review(solution_of(source, path, **more), definition)

    return look
