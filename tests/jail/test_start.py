"""What the processes of the jail load before they do anything."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["torch", "pydantic", "solbench.spec"])
def test_a_compiler_starts_without(module: str) -> None:
    """Each takes longer to import than a small program takes to compile."""
    program = f"import sys, solbench.jail.compiler; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
