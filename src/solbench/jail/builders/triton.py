"""Triton: Python files; on a CPU they run in Triton's interpreter."""

from __future__ import annotations

from solbench.jail.builders.python import make_artifact
from solbench.jail.protocol import Artifact
from solbench.spec import Solution


def build(solution: Solution, device: str) -> Artifact:
    return make_artifact(solution, triton_interpreter=not device.startswith("cuda"))
